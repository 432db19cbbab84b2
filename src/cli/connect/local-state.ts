/**
 * The state of the running local service: a small file that the service writes once it answers requests and removes when it
 * ends. The file is only a hint; whether the service is running is checked by a request to it.
 */
import fs from 'node:fs';
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
  /** How commands of runs are executed: `contained` as a trial at the start demonstrated, `host` as the user, without isolation. */
  exec: 'contained' | 'host' | 'off';
  /** The value of --exec; missing if an older version wrote the state. */
  exec_setting?: 'auto' | 'contained' | 'host' | 'off';
  /** Why commands are off although `auto` was requested, and what to do about it. */
  exec_problem?: string;
  exec_hint?: string;
  /** Hosts that contained agents can reach if they list them; missing if an older version wrote the state. */
  agent_hosts?: string[];
  /** Whether runs may browse; missing if an older version wrote the state. */
  browse?: 'on' | 'public' | 'off';
  /** Hosts to which webhooks may be sent; missing if an older version wrote the state. */
  webhook_hosts?: string[];
  /** Hosts to which connections may be made; missing if an older version wrote the state. */
  connection_hosts?: string[];
  /** How long runs and their files are stored after their end: a duration or `off`; missing if an older version wrote the state. */
  retention?: string;
  sandbox_retention?: string;
  /** Limits for the processes of agents; missing if an older version wrote the state. */
  max_agents?: number;
  agent_idle?: string;
  agent_timeout?: string;
  /** The address at which others reach it, if configured. */
  public_url?: string;
  /** The name of the node and its database (`host:port/database`), if it shares one. */
  node?: string;
  database?: string;
  /** Whether `local down` removes the data directory. */
  ephemeral: boolean;
  /** The certificate (PEM) that it presents, if it uses TLS. */
  certificate?: string;
  started_at: string;
}

/** The state in the data directory. */
export interface ServiceState extends LocalState {
  /** Where the service writes its state for `local` next; missing if `aops serve` started it, or an older version wrote the state. */
  state_file?: string;
}

/** The profile that `local up` maintains. */
export const localProfile = 'local';

export const stateFile = (context: Context): string => path.join(context.paths.data, 'local.json');
export const defaultDataDirectory = (context: Context): string => path.join(context.paths.data, 'local');
/** The state file of the service that owns a data directory, however it was started. */
export const serviceFile = (dataDirectory: string): string => path.join(dataDirectory, 'service.json');
export const logFile = (dataDirectory: string): string => path.join(dataDirectory, 'service.log');
/** The file with the token that the service created at its first start (0600). */
export const tokenFile = (dataDirectory: string): string => path.join(dataDirectory, 'token');

/** The state in the file; undefined when it does not exist or is truncated. @throws AopsError `not_readable`, such as for another user's file */
export async function readState(file: string): Promise<LocalState | undefined> {
  const text = await fs.promises.readFile(file, 'utf8').catch((error: unknown) => {
    if (isAbsent(error)) return undefined;
    throw readFailure(error, file);
  });
  try {
    return text === undefined ? undefined : (JSON.parse(text) as LocalState);
  } catch {
    return undefined;
  }
}

/** Writes the state completely or not at all. @throws AopsError `not_writable`, `disk_full` */
export async function writeState(file: string, state: ServiceState): Promise<void> {
  const partial = `${file}.${state.pid}`;
  try {
    makeFolders(path.dirname(file), 0o700);
    await fs.promises.writeFile(partial, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
    await fs.promises.rename(partial, file);
  } catch (error) {
    await fs.promises.rm(partial, { force: true }).catch(() => undefined);
    throw writeFailure(error, file, 'AOPS_DATA_DIR');
  }
}

/** Removes the file, unless another service has overwritten it since, or it cannot be read. */
export async function removeState(file: string, instanceId: string): Promise<void> {
  const state = await readState(file).catch(() => undefined);
  if (state?.instance_id === instanceId) await fs.promises.rm(file, { force: true });
}

/** The local service that `local up` started, if it answers. */
export const runningService = (context: Context): Promise<LocalState | undefined> => answering(stateFile(context));

/** The service that owns a data directory, however it was started, if it answers. */
export const owningService = (dataDirectory: string): Promise<ServiceState | undefined> => answering(serviceFile(dataDirectory));

/** The address at which this machine reaches a service that listens on all addresses. */
export const reachable = (url: string): string => url.replace(/\/\/0\.0\.0\.0(?=:)/, '//127.0.0.1').replace(/\/\/\[::\](?=:)/, '//[::1]');

async function answering(file: string): Promise<LocalState | undefined> {
  const state = await readState(file);
  if (!state) return undefined;
  const health = await readHealth(reachable(state.url));
  return health?.instance_id === state.instance_id ? state : undefined;
}

export interface FoundService {
  state: LocalState;
  /** Whether it was started with `aops serve`, in the foreground or by a supervisor: then it cannot be stopped from here, and it logs elsewhere. */
  isServed: boolean;
}

/** The service of the specified data directory, or else that of `local up` or of the default directory. */
export async function findService(context: Context, dataDir: string | undefined): Promise<FoundService | undefined> {
  // For a specified directory, it does not matter if the state file of `local up` cannot be read.
  const service = dataDir === undefined ? await runningService(context) : await runningService(context).catch(() => undefined);
  const directory = dataDir === undefined ? defaultDataDirectory(context) : path.resolve(context.cwd, dataDir);
  if (service !== undefined && (dataDir === undefined || service.data_dir === directory)) return { state: service, isServed: false };
  const state = await owningService(directory);
  return state && { state, isServed: true };
}

export const dataDirFlag = {
  dataDir: text('DIR', 'The data directory, if it is not the default one', { complete: 'directories' }),
} as const;

/** The error for a service that cannot be stopped from here because `aops serve` started it. */
export const servedElsewhere = ({ url, pid }: LocalState): AopsError =>
  new AopsError(`The service at ${url} was started with \`aops serve\` (process ${pid}), so it cannot be stopped from here.`, {
    code: 'service_served',
    exit: exitCodes.conflict,
    hint: `Stop it where it was started, or run \`kill ${pid}\`.`,
  });

/** The meaning of `exec` for people. */
export function execInWords({ exec, exec_problem: problem }: { exec: LocalState['exec']; exec_problem?: string | null }): string {
  if (exec === 'contained') return 'contained: they see only the system and the files of their run (tested)';
  if (exec === 'host') return "run as you, in the run's directory, without isolation";
  return problem ? `off, because ${problem}` : 'off';
}

/** The meaning of `browse` for people. */
export const browseInWords = (browse: LocalState['browse']): string =>
  browse === 'on' ? 'any address' : browse === 'public' ? 'public addresses only' : 'off';
