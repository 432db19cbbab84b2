import { spawn } from 'node:child_process';
import { fstatSync, openSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeDataDirectory } from '../../base/data-directory.ts';
import { AopsError, type ExitCode, exitCodes, UsageError } from '../../base/errors.ts';
import { removeTree } from '../../base/remove-tree.ts';
import { writeFailure } from '../../base/write-failure.ts';
import {
  browseInWords,
  defaultDataDirectory,
  execInWords,
  type LocalState,
  localProfile,
  logFile,
  readState,
  runningService,
  serviceFile,
  stateFile,
  tokenFile,
} from '../../cli/connect/local-state.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, flag, integer, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { readHealth } from '../../client/health.ts';
import type { BrowsePolicy } from '../../service/service.ts';
import { browsingOptions, namedChromium } from './browsing.ts';
import { type ConnectionInput, connectionArguments, connectionOptions, differsInConnections } from './connection-flags.ts';
import { hostsInWords } from './outbound-hosts.ts';
import { planFlags, planOptions } from './plans.ts';
import { differsInRetention, type RetentionInput, retentionArguments, retentionOptions } from './retention.ts';
import { differsInWebhooks, type WebhookInput, webhookArguments, webhookOptions } from './webhook-flags.ts';

/** How long a start may take before it counts as failed, and how often to look. */
const startMilliseconds = 15_000;
const lookMilliseconds = 20;
/** How long to wait for the one who owns the data directory to say what it is. */
const ownerMilliseconds = 5_000;

export default defineCommand({
  summary: 'Start the local service in the background, and use it',
  description: 'Returns when the service answers. The profile "local" is created and selected. A second call says that it is up already.',
  options: {
    port: integer('N', 'Listen on this port, 0 for any (default: the one it had before, or any)', { minimum: 0, maximum: 65_535 }),
    dataDir: text('DIR', 'Keep the data here', { complete: 'directories' }),
    ephemeral: flag('Keep no data: use a temporary directory that `down` removes'),
    exec: choice(['host', 'off'], 'Whether runs may execute commands, as you and without containment (default host)'),
    ...planOptions,
    ...retentionOptions,
    ...browsingOptions('on'),
    ...webhookOptions,
    ...connectionOptions,
  },
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops local up', text: 'Start it, and sign in to it' },
    { command: 'aops local up --ephemeral', text: 'For a try-out or a CI job' },
  ],
  result: returns({
    pid: 'integer',
    url: 'url',
    data_dir: 'string',
    team_id: 'uuid',
    version: 'string',
    instance_id: 'uuid',
    exec: 'host|off',
    browse: 'on|public|off?',
    webhook_hosts: 'string[]?',
    connection_hosts: 'string[]?',
    retention: 'string?',
    sandbox_retention: 'string?',
    ephemeral: 'boolean',
    started_at: 'date-time',
    profile: 'string',
  }),
  output: recordOutput<LocalState & { profile: string }>((state) => ({
    URL: state.url,
    Data: state.ephemeral ? `${state.data_dir} (removed by \`aops local down\`)` : state.data_dir,
    Profile: `${state.profile} (selected)`,
    Commands: execInWords(state.exec),
    Browsing: browseInWords(state.browse),
    Webhooks: hostsInWords(state.webhook_hosts),
    Connections: hostsInWords(state.connection_hosts),
  })),
  async run(context, input) {
    const running = await runningService(context);
    const state = running ?? (await startWhereItWas(context, input));
    if (running) refuseOtherwise(context, running, input);
    context.terminal.note(running ? 'The local service is up already.' : 'The local service is up.');
    await context.store.saveProfile(
      localProfile,
      { base_url: state.url, team_id: state.team_id },
      { type: 'token', token: await readToken(state.data_dir) },
    );
    await context.store.useProfile(localProfile);
    return { ...state, profile: localProfile };
  },
});

interface UpInput extends RetentionInput, WebhookInput, ConnectionInput {
  port: number | undefined;
  dataDir: string | undefined;
  ephemeral: boolean;
  exec: 'host' | 'off' | undefined;
  plan: readonly string[];
  browse: BrowsePolicy | undefined;
  chromium: string | undefined;
}

/** What is up may not be what is asked for; then it has to be stopped first. */
function refuseOtherwise(context: Context, running: LocalState, input: UpInput): void {
  const differs =
    (input.port !== undefined && input.port !== 0 && new URL(running.url).port !== String(input.port)) ||
    (input.dataDir !== undefined && path.resolve(context.cwd, input.dataDir) !== running.data_dir) ||
    (input.exec !== undefined && input.exec !== running.exec) ||
    // Only read at the start.
    input.plan.length > 0 ||
    differsInRetention(running, input) ||
    (input.browse !== undefined && input.browse !== (running.browse ?? 'off')) ||
    differsInWebhooks(running, input) ||
    differsInConnections(running, input) ||
    (input.ephemeral && !running.ephemeral);
  if (!differs) return;
  throw new AopsError(`The local service is up already, at ${running.url} with its data in ${running.data_dir}.`, {
    code: 'local_service_running',
    exit: exitCodes.conflict,
    hint: 'Stop it with `aops local down`, then start it the other way.',
  });
}

const readToken = async (dataDirectory: string): Promise<string> => (await readFile(tokenFile(dataDirectory), 'utf8')).trim();

/** Ports below are for privileged programs; it may have had one when it was started by another user. */
const firstOrdinaryPort = 1_024;

/** At the address it had before, so that whoever follows a run, or has the team page open, finds it again; elsewhere when that is taken. */
async function startWhereItWas(context: Context, input: UpInput): Promise<LocalState> {
  const before = context.store.profiles().find(({ name }) => name === localProfile)?.base_url;
  const { hostname, port: digits } = new URL(before ?? 'http://unknown');
  const port = hostname === '127.0.0.1' ? Number(digits) : 0;
  if (input.port !== undefined || input.ephemeral || port < firstOrdinaryPort) return start(context, input);
  try {
    return await start(context, { ...input, port });
  } catch (error) {
    if (!(error instanceof AopsError) || error.code !== 'port_in_use') throw error;
    return start(context, input);
  }
}

async function start(context: Context, input: UpInput): Promise<LocalState> {
  if (input.ephemeral && input.dataDir !== undefined) throw new UsageError('--ephemeral and --data-dir exclude each other.');
  const chromium = await namedChromium(context, input.chromium);
  const dataDirectory = input.ephemeral
    ? await mkdtemp(path.join(tmpdir(), 'aops-local-'))
    : input.dataDir === undefined
      ? defaultDataDirectory(context)
      : path.resolve(context.cwd, input.dataDir);
  await makeDataDirectory(dataDirectory);
  const log = openLog(logFile(dataDirectory));
  const { size: logged } = fstatSync(log);
  const flags = [
    '--data-dir',
    dataDirectory,
    '--port',
    String(input.port ?? 0),
    '--exec',
    input.exec ?? 'host',
    '--browse',
    input.browse ?? 'on',
    ...(chromium === undefined ? [] : ['--chromium', chromium]),
    '--state-file',
    stateFile(context),
    '--ephemeral',
    input.ephemeral ? 'yes' : 'no',
    ...webhookArguments(input),
    ...connectionArguments(input),
    ...planFlags(context, input.plan),
    ...retentionArguments(input),
    '--json',
  ];
  // A session of its own: Ctrl-C in this terminal does not reach it.
  const child = spawn(context.launcher.executable, [context.launcher.script, 'serve', ...flags], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: dataDirectory,
    env: { ...context.env },
  });
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  child.once('error', () => {
    ended = true;
  });
  child.unref();
  const deadline = context.clock.now() + startMilliseconds;
  for (;;) {
    const state = await readState(stateFile(context));
    if (state && state.pid === child.pid) return state;
    if (ended || context.clock.now() > deadline) {
      const error = await startError(dataDirectory, logged);
      if (input.ephemeral) await removeTree(dataDirectory);
      return orOther(context, dataDirectory, error);
    }
    await context.clock.sleep(lookMilliseconds, context.signal);
  }
}

function openLog(file: string): number {
  try {
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw writeFailure(error, file);
  }
}

/** The service that another `up` started at the same moment, when that is why this one failed. */
async function orOther(context: Context, dataDirectory: string, error: AopsError): Promise<LocalState> {
  const deadline = context.clock.now() + ownerMilliseconds;
  while (error.code === 'data_directory_in_use' && context.clock.now() < deadline) {
    const other = await runningService(context);
    if (other?.data_dir === dataDirectory) return other;
    // It may still be starting; once it answers, and not for us, it is somebody else's.
    const owner = await readState(serviceFile(dataDirectory));
    if (owner && (await readHealth(owner.url))?.instance_id === owner.instance_id && !(await runningService(context))) break;
    await context.clock.sleep(lookMilliseconds, context.signal);
  }
  throw error;
}

interface LoggedError {
  error?: { code: string; message: string; hint?: string; exit: ExitCode };
}

/** Why the service did not come up: its own error, from what was logged after `logged` bytes. Others may log there too. */
async function startError(dataDirectory: string, logged: number): Promise<AopsError> {
  const file = logFile(dataDirectory);
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  for (const line of bytes.subarray(logged).toString('utf8').split('\n').reverse()) {
    const { error } = parsed(line);
    // What was logged of an error is a text.
    if (typeof error === 'object')
      return new AopsError(error.message, {
        code: error.code,
        exit: error.exit,
        ...(error.hint === undefined ? {} : { hint: error.hint }),
      });
  }
  return new AopsError('The local service did not start.', { code: 'local_start_failed', exit: exitCodes.failure, hint: `See ${file}.` });
}

function parsed(line: string): LoggedError {
  try {
    return JSON.parse(line) as LoggedError;
  } catch {
    return {};
  }
}
