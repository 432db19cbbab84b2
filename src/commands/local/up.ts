import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fstatSync, openSync, readSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeDataDirectory } from '../../base/data-directory.ts';
import { AopsError, type ExitCode, exitCodes, UsageError } from '../../base/errors.ts';
import { removeTree } from '../../base/remove-tree.ts';
import { makeTemporaryFolder } from '../../base/temporary-folder.ts';
import { writeFailure } from '../../base/write-failure.ts';
import {
  browseInWords,
  defaultDataDirectory,
  execInWords,
  type LocalState,
  localProfile,
  logFile,
  owningService,
  readState,
  runningService,
  stateFile,
  tokenFile,
} from '../../cli/connect/local-state.ts';
import { type ExecInput, execOptions } from '../../cli/input/exec-options.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, integer, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import type { BrowsePolicy } from '../../service/service.ts';
import { type AgentProcessInput, agentProcessArguments, agentProcessOptions, differsInAgentProcesses } from './agent-flags.ts';
import { browsingOptions, namedChromium } from './browsing.ts';
import { type ConnectionInput, connectionArguments, connectionOptions, differsInConnections } from './connection-flags.ts';
import { differsInExec, execArguments } from './exec-flags.ts';
import { hostsInWords } from './outbound-hosts.ts';
import { planFlags, planOptions } from './plans.ts';
import { differsInRetention, type RetentionInput, retentionArguments, retentionOptions } from './retention.ts';
import { differsInWebhooks, type WebhookInput, webhookArguments, webhookOptions } from './webhook-flags.ts';

/** How long a start may take before it counts as failed, and the polling interval. */
const startMilliseconds = 60_000;
const pollMilliseconds = 20;
/** How long to wait for the owner of the data directory to write its state. */
const ownerMilliseconds = 15_000;

export default defineCommand({
  summary: 'Start the local service in the background',
  description:
    'Returns when the service is ready. Creates and selects the profile "local". If the service is running already, the command succeeds.',
  options: {
    port: integer('N', 'Listen on this port, or 0 for any (default: the previous port, or any)', { minimum: 0, maximum: 65_535 }),
    dataDir: text('DIR', 'Data directory', { complete: 'directories' }),
    ephemeral: flag('Use a temporary data directory that `aops local down` removes'),
    ...execOptions('auto'),
    ...planOptions,
    ...retentionOptions,
    ...agentProcessOptions,
    ...browsingOptions('on'),
    ...webhookOptions,
    ...connectionOptions,
  },
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops local up', text: 'Start the service and sign in to it' },
    { command: 'aops local up --ephemeral', text: 'Start a temporary service, for example in a CI job' },
  ],
  result: returns({
    pid: 'integer',
    url: 'url',
    data_dir: 'string',
    team_id: 'uuid',
    version: 'string',
    instance_id: 'uuid',
    exec: 'contained|host|off',
    exec_problem: 'string?',
    exec_hint: 'string?',
    browse: 'on|public|off?',
    webhook_hosts: 'string[]?',
    connection_hosts: 'string[]?',
    retention: 'string?',
    sandbox_retention: 'string?',
    max_agents: 'integer?',
    agent_idle: 'string?',
    agent_timeout: 'string?',
    ephemeral: 'boolean',
    started_at: 'date-time',
    profile: 'string',
  }),
  output: recordOutput<LocalState & { profile: string }>((state) => ({
    URL: state.url,
    Data: state.ephemeral ? `${state.data_dir} (removed by \`aops local down\`)` : state.data_dir,
    Profile: `${state.profile} (selected)`,
    Commands: execInWords(state),
    Browsing: browseInWords(state.browse),
    Webhooks: hostsInWords(state.webhook_hosts),
    Connections: hostsInWords(state.connection_hosts),
  })),
  async run(context, input) {
    const running = await runningService(context);
    const state = running ?? (await startWhereItWas(context, input));
    if (running) refuseOtherwise(context, running, input);
    context.terminal.note(running ? 'The local service is already running.' : 'The local service is running.');
    if (state.exec_hint !== undefined) context.terminal.note(`Runs cannot execute commands: ${state.exec_problem}. ${state.exec_hint}`);
    await context.store.saveProfile(
      localProfile,
      { base_url: state.url, team_id: state.team_id },
      { type: 'token', token: await readToken(state.data_dir) },
    );
    await context.store.useProfile(localProfile);
    return { ...state, profile: localProfile };
  },
});

interface UpInput extends ExecInput, RetentionInput, AgentProcessInput, WebhookInput, ConnectionInput {
  port: number | undefined;
  dataDir: string | undefined;
  ephemeral: boolean;
  plan: readonly string[];
  browse: BrowsePolicy | undefined;
  chromium: string | undefined;
}

/** @throws AopsError when the running service does not match the flags and must be stopped first */
function refuseOtherwise(context: Context, running: LocalState, input: UpInput): void {
  const differs =
    (input.port !== undefined && input.port !== 0 && new URL(running.url).port !== String(input.port)) ||
    (input.dataDir !== undefined && path.resolve(context.cwd, input.dataDir) !== running.data_dir) ||
    differsInExec(running, input) ||
    // Plans are read only at the start.
    input.plan.length > 0 ||
    differsInRetention(running, input) ||
    differsInAgentProcesses(running, input) ||
    (input.browse !== undefined && input.browse !== (running.browse ?? 'off')) ||
    differsInWebhooks(running, input) ||
    differsInConnections(running, input) ||
    (input.ephemeral && !running.ephemeral);
  if (!differs) return;
  throw new AopsError(`The local service is already running at ${running.url} with its data in ${running.data_dir}.`, {
    code: 'local_service_running',
    exit: exitCodes.conflict,
    hint: 'To change its options, stop it with `aops local down` and start it again.',
  });
}

const readToken = async (dataDirectory: string): Promise<string> => (await readFile(tokenFile(dataDirectory), 'utf8')).trim();

/** Lower ports are reserved for privileged processes; the service might have had one when another user started it. */
const firstOrdinaryPort = 1_024;

/** Starts the service at its previous address, so that watched runs and the open team page find it again; elsewhere if that is taken. */
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
  if (input.ephemeral && input.dataDir !== undefined) throw new UsageError('--ephemeral and --data-dir cannot be combined.');
  const chromium = await namedChromium(context, input.chromium);
  const dataDirectory = input.ephemeral
    ? await makeTemporaryFolder('aops-local-')
    : input.dataDir === undefined
      ? defaultDataDirectory(context)
      : path.resolve(context.cwd, input.dataDir);
  await makeDataDirectory(dataDirectory);
  const log = openLog(logFile(dataDirectory));
  const { size: logSize } = fstatSync(log);
  const flags = [
    '--data-dir',
    dataDirectory,
    '--port',
    String(input.port ?? 0),
    ...execArguments(input),
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
    ...agentProcessArguments(input),
    '--json',
  ];
  // It runs in its own session, so Ctrl-C in this terminal does not reach it.
  const [program, ...first] = context.launcher.command;
  const child = spawn(program, [...first, 'serve', ...flags], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: dataDirectory,
    // The local service has its own database.
    env: { ...context.env, AOPS_DATABASE_URL: undefined },
  });
  let hasEnded = false;
  child.once('exit', () => {
    hasEnded = true;
  });
  child.once('error', () => {
    hasEnded = true;
  });
  child.unref();
  const deadline = context.clock.now() + startMilliseconds;
  for (;;) {
    const state = await readState(stateFile(context));
    if (state && state.pid === child.pid) return state;
    if (hasEnded || context.clock.now() > deadline) {
      const error = await startError(dataDirectory, log, logSize);
      if (input.ephemeral) await removeTree(dataDirectory);
      return orOtherService(context, dataDirectory, error);
    }
    await context.clock.sleep(pollMilliseconds, context.signal);
  }
}

function openLog(file: string): number {
  try {
    return openSync(file, 'a+', 0o600);
  } catch (error) {
    throw writeFailure(error, file);
  }
}

/** The service that another `up` started at the same time, if that is why this one failed. */
async function orOtherService(context: Context, dataDirectory: string, error: AopsError): Promise<LocalState> {
  const deadline = context.clock.now() + ownerMilliseconds;
  while (error.code === 'data_directory_in_use' && context.clock.now() < deadline) {
    const otherService = await runningService(context);
    if (otherService?.data_dir === dataDirectory) return otherService;
    // The other service might still be starting. If it responds and will not write the state for `local`, it belongs to someone else.
    const owner = await owningService(dataDirectory);
    if (owner && owner.state_file !== stateFile(context)) break;
    await context.clock.sleep(pollMilliseconds, context.signal);
  }
  throw error;
}

interface LoggedError {
  error?: { code: string; message: string; hint?: string; exit: ExitCode };
}

/**
 * Why the service did not start: its own error, from the log after the first `logOffset` bytes. Other processes can log there too, or have
 * removed the file.
 */
async function startError(dataDirectory: string, log: number, logOffset: number): Promise<AopsError> {
  const file = logFile(dataDirectory);
  const bytes = Buffer.alloc(Math.max(0, fstatSync(log).size - logOffset));
  readSync(log, bytes, 0, bytes.length, logOffset);
  for (const line of bytes.toString('utf8').split('\n').reverse()) {
    const { error } = parseLogLine(line);
    // In log entries, errors are strings.
    if (typeof error === 'object')
      return new AopsError(error.message, {
        code: error.code,
        exit: error.exit,
        ...(error.hint === undefined ? {} : { hint: error.hint }),
      });
  }
  const problem = await writeProblem(dataDirectory);
  if (problem !== undefined) return problem;
  const hint = `See ${file}.`;
  return new AopsError('The local service did not start.', { code: 'local_start_failed', exit: exitCodes.failure, hint });
}

/** Why nothing can be written to the folder, such as a full disk, for which the log of the service has no room either. */
async function writeProblem(folder: string): Promise<AopsError | undefined> {
  const file = path.join(folder, `.up-${randomUUID()}`);
  try {
    await writeFile(file, Buffer.alloc(4_096));
  } catch (error) {
    const failure = writeFailure(error, folder);
    return failure instanceof AopsError ? failure : undefined;
  } finally {
    await rm(file, { force: true });
  }
  return undefined;
}

function parseLogLine(line: string): LoggedError {
  try {
    return JSON.parse(line) as LoggedError;
  } catch {
    return {};
  }
}
