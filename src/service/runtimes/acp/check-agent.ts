/** Checks an agent without a run: starts it as a run would, asks it about itself, and ends it. */
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import type { InitializeResponse } from '@agentclientprotocol/sdk';
import { type Clock, steadyTime } from '../../../base/clock.ts';
import { createRedactor } from '../../../base/redaction.ts';
import { firstLine, shorten } from '../../../base/values.ts';
import type { AgentCheck, CheckedProgram } from '../../../interface/types.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { CheckRequest } from '../runtime.ts';
import { findProgram } from './agent-program.ts';
import type { AgentSlots } from './agent-slots.ts';
import type { AgentDefinition } from './definition.ts';
import { findInstallation } from './installation.ts';
import { type AcpOptions, defaultLimits } from './options.ts';
import { AgentProblem } from './problems.ts';
import { acpAgent } from './registry.ts';
import { openAgent } from './start-agent.ts';
import { thisMachine } from './this-machine.ts';
import { tryTurn } from './trial-turn.ts';

type CheckResult = Pick<AgentCheck, 'problem' | 'warnings' | 'program'>;
type Problem = NonNullable<AgentCheck['problem']>;

/** Starts the agent of a definition for a moment. Rejects only with the signal's reason. */
export async function checkAgent(
  request: CheckRequest,
  definition: AgentDefinition,
  options: AcpOptions,
  slots: AgentSlots,
): Promise<CheckResult> {
  const program = emptyReport(request);
  const warnings: string[] = [];
  let problem: Problem | null = null;
  const slot = `check ${randomUUID()}`;
  try {
    program.command = [...(await findProgram(definition, options)).command];
    warnings.push(...(await installationWarnings(definition, options)));
    const secrets = await secretsOf(request, definition);
    program.credential = credentialIn(definition);
    await acquireSlot(slots, slot, request.signal, options);
    await request.inSandbox((sandbox) => startAndReport({ request, definition, options, secrets, sandbox, program }));
  } catch (error) {
    request.signal.throwIfAborted();
    if (!(error instanceof AgentProblem)) throw error;
    problem = { code: error.code, message: error.message };
    if (error.code === 'not_signed_in') program.signed_in = false;
  } finally {
    slots.release(slot);
  }
  problem ??= missingCredential(definition, program);
  return { problem, warnings: [...warnings, ...reportWarnings(program)], program };
}

const emptyReport = ({ launcher }: CheckRequest): CheckedProgram => ({
  command: null,
  exec_level: launcher.level,
  ...{ name: null, version: null, protocol_version: null, start_milliseconds: null },
  ...{ mode: null, asks: null, modes: [] },
  ...{ can_resume: null, can_load: null, can_use_tools: null },
  ...{ credential: null, signed_in: null, sign_in_methods: [] },
  turn: null,
});

interface Start {
  request: CheckRequest;
  definition: AgentDefinition;
  options: AcpOptions;
  secrets: Readonly<Record<string, string>>;
  sandbox: Sandbox;
  program: CheckedProgram;
}

/** Starts the agent, fills the report, and ends the agent in any case. */
async function startAndReport({ request, definition, options, secrets, sandbox, program }: Start): Promise<void> {
  const { clock, log } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const startedAt = steadyTime(clock);
  const redactor = createRedactor(new Map(Object.entries(secrets)));
  const agent = await openAgent(
    {
      ...{ sandbox, launcher: request.launcher, signal: request.signal },
      secrets: async () => secrets,
      ...{ earlierSession: undefined, tools: undefined },
      onInitialize: (info) => readInitialize(redactor.value(info), program),
      onModes: (modes) => {
        program.modes = redactor.value(modes.slice(0, maxEntries)).map(({ id, name }) => ({ id: limited(id), name: limited(name) }));
      },
      onForeignLine: (line) => log('debug', 'a checked agent wrote a line that is not a message', { line: firstLine(line).slice(0, 200) }),
    },
    definition,
    { ...options, limits: { ...limits, start: Math.min(limits.start, limits.checkStart) } },
  );
  try {
    program.name ??= agent.name;
    program.start_milliseconds = Math.round(steadyTime(clock) - startedAt);
    program.mode = agent.mode === undefined ? null : limited(agent.mode.mode);
    program.asks = agent.mode?.asks ?? null;
    if (!request.turn) return;
    const before = await filesIn(sandbox);
    const trial = await tryTurn(agent, { clock, limit: limits.checkTurn, signal: request.signal });
    program.signed_in = true;
    program.turn = { ...trial, wrote: (await filesIn(sandbox)).some((name) => !before.includes(name)) };
    if (trial.asked && program.turn.wrote)
      throw new AgentProblem('The agent wrote a file although its request was denied.', 'denial_ignored');
    if (trial.asked || program.turn.wrote) program.asks = trial.asked;
  } finally {
    await agent.stop(clock);
  }
}

/** The files and folders of the workspace, without hidden ones: agents keep their own state in those. */
const filesIn = async ({ directory }: Sandbox): Promise<string[]> => (await readdir(directory)).filter((name) => !name.startsWith('.'));

function readInitialize({ agentInfo, protocolVersion, agentCapabilities, authMethods }: InitializeResponse, program: CheckedProgram): void {
  const name = agentInfo?.title ?? agentInfo?.name;
  program.name = name === undefined ? null : limited(name);
  program.version = agentInfo?.version === undefined ? null : limited(agentInfo.version);
  program.protocol_version = Number.isInteger(protocolVersion) ? protocolVersion : null;
  program.can_resume = agentCapabilities?.sessionCapabilities?.resume != null;
  program.can_load = agentCapabilities?.loadSession === true;
  program.can_use_tools = agentCapabilities?.mcpCapabilities?.http === true;
  program.sign_in_methods = (authMethods ?? []).slice(0, maxEntries).map(({ id, name: title, description }) => ({
    ...{ id: limited(id), name: limited(title) },
    description: description == null ? null : limited(description),
  }));
}

/** Agents describe themselves, so the texts and lists in a report are limited. */
const maxEntries = 50;
const limited = (text: unknown): string => shorten(String(text), 300);

/** Waits for a slot, but not for as long as a run would. */
async function acquireSlot(slots: AgentSlots, slot: string, signal: AbortSignal, { clock, limits }: AcpOptions): Promise<void> {
  const limit = { ...defaultLimits, ...limits }.checkSlot;
  const timer = new AbortController();
  const timeout = timeLimit(clock, limit, timer);
  try {
    await slots.acquire(slot, AbortSignal.any([signal, timer.signal]));
  } catch {
    signal.throwIfAborted();
    throw new AgentProblem('All agents that this machine can run at the same time are working. Try again when a run has ended.', 'busy');
  } finally {
    timer.abort();
    await timeout;
  }
}

/** Aborts a timer after some milliseconds, unless it was aborted before. */
const timeLimit = (clock: Clock, limit: number, timer: AbortController): Promise<void> =>
  clock.sleep(limit, timer.signal).then(
    () => timer.abort(),
    () => undefined,
  );

async function secretsOf(request: CheckRequest, { secrets }: AgentDefinition): Promise<Record<string, string>> {
  const values = await request.secrets(secrets);
  const missing = secrets.filter((name) => !values.has(name));
  if (missing.length > 0)
    throw new AgentProblem(
      `The agent has no secret ${missing.join(', ')}, which its definition lists. Pass its value with --secret ${missing[0]}=@FILE.`,
      'secret_missing',
    );
  return Object.fromEntries(values);
}

/** What the installation of an agent of the registry lacks. */
async function installationWarnings({ acp }: AgentDefinition, options: AcpOptions): Promise<string[]> {
  return acp === undefined ? [] : (await findInstallation(acpAgent(acp), await thisMachine(options))).warnings;
}

/** The variable of the definition that contains the credential of an agent of the registry. */
function credentialIn({ acp, secrets, environment }: AgentDefinition): string | null {
  if (acp === undefined) return null;
  return acpAgent(acp).credentials.find((name) => secrets.includes(name) || Object.hasOwn(environment, name)) ?? null;
}

/** The problem of an agent without anything that it could sign in with, unless a turn has shown that it needs nothing. */
function missingCredential(definition: AgentDefinition, { signed_in, credential }: CheckedProgram): Problem | null {
  const { acp, secrets, environment } = definition;
  if (acp === undefined || signed_in === true || credential !== null) return null;
  const { name, credentials, login } = acpAgent(acp);
  if (credentials.length === 0 || secrets.length > 0 || Object.keys(environment).length > 0) return null;
  return { code: 'not_signed_in', message: `${name} has no credential. ${login}` };
}

function reportWarnings({ mode, asks, turn, can_resume, can_load }: CheckedProgram): string[] {
  const warnings: string[] = [];
  if (turn?.wrote === true && !turn.asked) warnings.push('The agent wrote a file without asking first.');
  else if (asks === false)
    warnings.push(`In the mode "${mode}", the agent decides by itself what it does, without asking. Choose another mode with --mode.`);
  if (turn !== null && !turn.wrote && !turn.asked)
    warnings.push('The agent did not try to write a file in a short turn, so it is unknown whether it asks first.');
  if (can_resume === false && can_load === false)
    warnings.push('The agent cannot continue a session: if it waits for a long time, a new session begins with the transcript.');
  return warnings;
}
