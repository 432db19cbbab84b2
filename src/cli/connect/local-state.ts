/**
 * What is known of the local service that runs: a small file that the service writes once it answers and removes
 * when it ends. The file is only a hint; whether the service is really there is asked of the service itself.
 */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes } from '../../base/errors.ts';
import { makeFolders } from '../../base/make-folders.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { writeFailure } from '../../base/write-failure.ts';
import { readHealth } from '../../client/health.ts';
import type { Context } from '../kit/context.ts';
import { text } from '../kit/flags.ts';

export interface LocalState {
  pid: number;
  url: string;
  data_dir: string;
  team_id: string;
  version: string;
  instance_id: string;
  /** How commands of runs are executed: `host` means as the user, without containment. */
  exec: 'host' | 'off';
  /** Whether runs may browse; absent when an older version wrote the state. */
  browse?: 'on' | 'public' | 'off';
  /** Where webhooks may go; absent when an older version wrote the state. */
  webhook_hosts?: string[];
  /** Where connections may go; the same. */
  connection_hosts?: string[];
  /** How long runs, and the files of runs, are kept after their end: a duration or `off`; absent when an older version wrote the state. */
  retention?: string;
  sandbox_retention?: string;
  /** Where others reach it, when it was told. */
  public_url?: string;
  /** The data directory goes when the service is stopped with `down`. */
  ephemeral: boolean;
  /** The certificate (PEM) that it shows, where it speaks TLS. */
  certificate?: string;
  started_at: string;
}

/** The profile that `local up` keeps. */
export const localProfile = 'local';

export const stateFile = (context: Context): string => path.join(context.paths.data, 'local.json');
export const defaultDataDirectory = (context: Context): string => path.join(context.paths.data, 'local');
/** Where a service that owns a data directory says what it is, whoever started it. */
export const serviceFile = (dataDirectory: string): string => path.join(dataDirectory, 'service.json');
export const logFile = (dataDirectory: string): string => path.join(dataDirectory, 'service.log');
/** Where the service keeps the token it made at its first start (0600). */
export const tokenFile = (dataDirectory: string): string => path.join(dataDirectory, 'token');

/** What the file says; undefined when there is none, or it is cut. @throws AopsError `not_readable`, as when it is another user's */
export async function readState(file: string): Promise<LocalState | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isAbsent(error)) return undefined;
    throw readFailure(error, file);
  });
  try {
    return text === undefined ? undefined : (JSON.parse(text) as LocalState);
  } catch {
    return undefined;
  }
}

/** @throws AopsError `not_writable`, `disk_full`; nothing is left of it then */
export async function writeState(file: string, state: LocalState): Promise<void> {
  makeFolders(path.dirname(file), 0o700);
  const partial = `${file}.${state.pid}`;
  try {
    await writeFile(partial, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true }).catch(() => undefined);
    throw writeFailure(error, file);
  }
}

/** Removes the file, unless another service has written its own since, or it cannot be read. */
export async function removeState(file: string, instanceId: string): Promise<void> {
  const state = await readState(file).catch(() => undefined);
  if (state?.instance_id === instanceId) await rm(file, { force: true });
}

/** The local service that runs and answers, if any: that of `local up`. */
export const runningService = (context: Context): Promise<LocalState | undefined> => answering(stateFile(context));

/** The service that owns a data directory, whoever started it, if it answers. */
export const owningService = (dataDirectory: string): Promise<LocalState | undefined> => answering(serviceFile(dataDirectory));

/** A service that listens on every address is reached at that of this machine. */
export const reachable = (url: string): string => url.replace(/\/\/0\.0\.0\.0(?=:)/, '//127.0.0.1').replace(/\/\/\[::\](?=:)/, '//[::1]');

async function answering(file: string): Promise<LocalState | undefined> {
  const state = await readState(file);
  if (!state) return undefined;
  const health = await readHealth(reachable(state.url));
  return health?.instance_id === state.instance_id ? state : undefined;
}

export interface FoundService {
  state: LocalState;
  /** By `aops serve`, in the foreground or by a supervisor: then it is not stopped from here, and its log is elsewhere. */
  served: boolean;
}

/** The service to look at: that of the data directory that is named; else that of `local up`, or of the default directory. */
export async function findService(context: Context, dataDir: string | undefined): Promise<FoundService | undefined> {
  // A directory that is named can be looked at where the note of `local up` is another user's.
  const up = dataDir === undefined ? await runningService(context) : await runningService(context).catch(() => undefined);
  const directory = dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, dataDir);
  if (up !== undefined && (dataDir === undefined || up.data_dir === directory)) return { state: up, served: false };
  const state = await owningService(directory);
  return state && { state, served: true };
}

export const dataDirFlag = {
  dataDir: text('DIR', 'The data directory, when it is not the default one', { complete: 'directories' }),
} as const;

/** The refusal to touch a service that `aops serve` runs. */
export const servedElsewhere = ({ url, pid }: LocalState): AopsError =>
  new AopsError(`The service at ${url} was started with \`aops serve\` (process ${pid}); it is not stopped from here.`, {
    code: 'service_served',
    exit: exitCodes.conflict,
    hint: `End it where it was started, or with \`kill ${pid}\`.`,
  });

/** What `exec` means, in words a person can judge. */
export const execInWords = (exec: LocalState['exec']): string =>
  exec === 'host' ? "run as you, in the run's directory, without containment" : 'off';

/** What `browse` means, in words. */
export const browseInWords = (browse: LocalState['browse']): string =>
  browse === 'on' ? 'any address' : browse === 'public' ? 'public addresses alone' : 'off';
