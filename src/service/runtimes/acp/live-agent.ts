/** A running agent with its session: starts, prompts, and ends it. */
import type { InitializeResponse, PromptResponse, SessionUpdate } from '@agentclientprotocol/sdk';
import type { Clock } from '../../../base/clock.ts';
import { createRedactor } from '../../../base/redaction.ts';
import type { Launcher, LaunchRequest } from '../../sandbox/launch.ts';
import type { RunToken } from '../run-tokens.ts';
import { AgentProcess } from './agent-process.ts';
import { AgentConnection, type IncomingRequest } from './connection.ts';
import { mcpServers, toolsShortfall } from './mcp-servers.ts';
import { chooseMode, type ModeChoice, modesIn, type OfferedMode, type OfferedModes } from './modes.ts';
import type { AcpLimits } from './options.ts';
import { AgentProblem } from './problems.ts';
import { SessionUpdates } from './updates.ts';

/** How the agent got its session. */
export type SessionOrigin = 'new' | 'resumed' | 'loaded' | 'replaced';

export interface OpenOptions {
  launcher: Launcher;
  launch: LaunchRequest;
  /** The session of an earlier process of the run. */
  earlierSession: string | undefined;
  /** The mode to work in; by default, the strictest one. */
  mode: string | undefined;
  /** The mode to work in otherwise, if the agent offers it. */
  preferredMode: string | undefined;
  /** The ID of the method to sign in with; undefined if no sign-in is needed. */
  authentication: string | undefined;
  /** The access of the agent to the tools of its run, which is revoked when the process ends; undefined for an agent without tools. */
  tools: RunToken | undefined;
  /** The beginning of the first prompt of a new session; undefined if the agent reads its instructions itself. */
  instructions: string | undefined;
  /** Values in its environment that must not be recorded, by name. */
  secrets: ReadonlyMap<string, string>;
  clock: Clock;
  /** Creates the IDs of events. */
  nextEventId: () => string;
  onForeignLine: (line: string) => void;
  /** Called with the first answer of the agent, before it is checked. */
  onInitialize?: (info: InitializeResponse) => void;
  /** Called with the modes that a session offers, before one of them is chosen. */
  onModes?: (modes: OfferedMode[]) => void;
  signal: AbortSignal;
  limits: AcpLimits;
}

/** Milliseconds between SIGTERM and SIGKILL. */
const endGrace = 1_500;

export class LiveAgent {
  readonly sessionId: string;
  readonly origin: SessionOrigin;
  /** Why an earlier session was replaced by a new one. */
  readonly replacementReason: string | undefined;
  readonly name: string;
  readonly version: string;
  readonly mode: ModeChoice | undefined;
  /** Values that its process has got and that must not be recorded, by name. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly tools: RunToken | undefined;
  /** Why it has no tools, as the end of a sentence; undefined if it has. */
  readonly toolsShortfall: string | undefined;
  /** The beginning of the first prompt of a new session; undefined if the agent reads its instructions itself. */
  readonly instructions: string | undefined;
  readonly updates: SessionUpdates;
  readonly connection: AgentConnection;
  /** Requests that a person has to answer, oldest first. */
  readonly requests: IncomingRequest[] = [];
  /** The prompt in progress. */
  prompt: Promise<PromptResponse> | undefined;
  readonly #program: string;
  readonly #limits: AcpLimits;

  private constructor(connection: AgentConnection, session: OpenedSession, info: InitializeResponse, options: OpenOptions) {
    const { launch, nextEventId, limits } = options;
    this.connection = connection;
    this.#program = launch.program;
    this.#limits = limits;
    this.secrets = options.secrets;
    this.instructions = options.instructions;
    this.sessionId = session.sessionId;
    this.origin = session.origin;
    this.replacementReason = session.reason;
    this.mode = session.mode;
    this.tools = options.tools;
    this.toolsShortfall = toolsShortfall(info, connection.process.endpoint);
    this.name = info.agentInfo?.title ?? info.agentInfo?.name ?? launch.program;
    this.version = info.agentInfo?.version ?? 'unknown';
    this.updates = new SessionUpdates(nextEventId, launch.directory);
  }

  /** Starts an agent and opens its session. @throws AgentProblem, or the signal's reason */
  static async open(options: OpenOptions): Promise<LiveAgent> {
    const { launch, clock, signal } = options;
    signal.throwIfAborted();
    const process = await AgentProcess.start(options.launcher, { ...launch, endpoint: options.tools?.endpoint });
    void process.ended.then(() => options.tools?.revoke());
    const connection = new AgentConnection(process, { redactor: createRedactor(options.secrets), onForeignLine: options.onForeignLine });
    const { program } = launch;
    try {
      return await runPhase(connection, program, 'while it was starting', { clock, limit: options.limits.start, signal }, async () => {
        const info = await connection.request('initialize', {
          protocolVersion: 1,
          clientCapabilities: connection.clientCapabilities,
          clientInfo: connection.clientInfo,
        });
        options.onInitialize?.(info);
        if (info.protocolVersion !== 1)
          throw new AgentProblem(
            `The agent speaks version ${info.protocolVersion} of the Agent Client Protocol; only version 1 is supported.`,
            'unsupported_protocol',
          );
        if (options.authentication !== undefined) await connection.request('authenticate', { methodId: options.authentication });
        const session = await openSession(connection, info, options);
        return new LiveAgent(connection, session, info, options);
      });
    } catch (error) {
      connection.close();
      await process.end(0);
      throw error;
    }
  }

  /** Sends a prompt, without waiting for its end. */
  startPrompt(text: string): void {
    this.prompt = this.connection.request('session/prompt', { sessionId: this.sessionId, prompt: [{ type: 'text', text }] });
    // A failure is handled where the end of the prompt is awaited.
    this.prompt.catch(() => undefined);
  }

  /** Passes the updates before the next request to `accept`, and adds that request to `requests`. Returns whether the connection is closed. */
  receive(accept: (update: SessionUpdate) => void): { isClosed: boolean } {
    for (;;) {
      const incoming = this.connection.take();
      if (incoming === undefined) return { isClosed: false };
      if (incoming.kind === 'closed') return { isClosed: true };
      if (incoming.kind === 'update') {
        if (incoming.sessionId === this.sessionId) accept(incoming.update);
      } else {
        this.requests.push(incoming.request);
        // Later messages are handled after the request.
        return { isClosed: false };
      }
    }
  }

  /** Responds to all requests that they were cancelled, which allows nothing. */
  cancelRequests(): void {
    for (const request of this.requests.splice(0)) cancelRequest(request);
  }

  /** Explains an error: the process might have ended. @param phase such as "while it was working" */
  problem(error: unknown, phase: string): Promise<AgentProblem> {
    return this.connection.problem(error, this.#program, phase);
  }

  /** Cancels the prompt and all requests, and ends the process group, within 6 seconds in total. */
  async stop(clock: Clock): Promise<void> {
    this.tools?.revoke();
    this.cancelRequests();
    if (this.prompt !== undefined) {
      const ended = this.prompt.then(
        () => undefined,
        () => undefined,
      );
      const timer = new AbortController();
      await this.connection.cancel(this.sessionId).catch(() => undefined);
      const cancelling = this.#cancelLaterRequests(timer.signal);
      await Promise.race([ended, clock.sleep(this.#limits.cancel, timer.signal).catch(() => undefined)]);
      timer.abort();
      await cancelling;
    }
    await this.end(endGrace);
  }

  /** Also cancels requests that arrive after the cancellation: Gemini waits for that. */
  async #cancelLaterRequests(signal: AbortSignal): Promise<void> {
    const abortPromise = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      if (this.receive(() => undefined).isClosed) return;
      this.cancelRequests();
      await Promise.race([this.connection.arrival(), abortPromise]);
    }
  }

  /** Ends the process group. @param grace milliseconds between SIGTERM and SIGKILL */
  async end(grace = endGrace): Promise<void> {
    this.tools?.revoke();
    this.connection.close();
    await this.connection.process.end(grace);
  }
}

function cancelRequest(request: IncomingRequest): void {
  if (request.kind === 'permission') request.respond({ outcome: { outcome: 'cancelled' } });
  else request.respond({ action: 'cancel' });
}

interface OpenedSession {
  sessionId: string;
  origin: SessionOrigin;
  reason?: string;
  mode: ModeChoice | undefined;
}

/** Continues the earlier session if the agent can; otherwise, or if that fails, opens a new one. */
async function openSession(connection: AgentConnection, info: InitializeResponse, options: OpenOptions): Promise<OpenedSession> {
  const { earlierSession: sessionId, launch } = options;
  const sessionParams = { cwd: launch.directory, mcpServers: mcpServers(info, connection.process.endpoint) };
  const { sessionCapabilities, loadSession } = info.agentCapabilities ?? {};
  const reasons: string[] = [];
  if (sessionId !== undefined && sessionCapabilities?.resume != null) {
    try {
      const response = await connection.request('session/resume', { sessionId, ...sessionParams });
      return { sessionId, origin: 'resumed', mode: await switchMode(connection, sessionId, response, options) };
    } catch (error) {
      reasons.push(`it could not be resumed: ${messageOf(error)}`);
    }
  }
  if (sessionId !== undefined && loadSession === true) {
    try {
      // The agent repeats the conversation, which is already in the transcript.
      const response = await connection.withoutUpdates(() =>
        withTimeLimit(options.clock, options.limits.load, options.signal, () =>
          connection.request('session/load', { sessionId, ...sessionParams }),
        ),
      );
      return { sessionId, origin: 'loaded', mode: await switchMode(connection, sessionId, response, options) };
    } catch (error) {
      options.signal.throwIfAborted();
      reasons.push(`it could not be loaded: ${messageOf(error)}`);
    }
  }
  const response = await connection.request('session/new', sessionParams);
  const mode = await switchMode(connection, response.sessionId, response, options);
  if (sessionId === undefined) return { sessionId: response.sessionId, origin: 'new', mode };
  const reason = reasons.length === 0 ? 'the agent cannot continue sessions' : reasons.join('; ');
  return { sessionId: response.sessionId, origin: 'replaced', reason, mode };
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String((error as { message?: unknown }).message ?? error);

/** Switches to the mode before the first prompt. */
async function switchMode(
  connection: AgentConnection,
  sessionId: string,
  offeredModes: OfferedModes,
  { mode: requestedMode, preferredMode, onModes }: OpenOptions,
): Promise<ModeChoice | undefined> {
  onModes?.(modesIn(offeredModes));
  const choice = chooseMode(offeredModes, requestedMode, preferredMode);
  if (choice?.change?.by === 'mode') await connection.request('session/set_mode', { sessionId, modeId: choice.mode });
  if (choice?.change?.by === 'option')
    await connection.request('session/set_config_option', { sessionId, configId: choice.change.optionId, value: choice.mode });
  return choice;
}

/** Does work, and rejects with an AgentProblem after a time limit. @param limit milliseconds */
async function withTimeLimit<T>(clock: Clock, limit: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const timer = new AbortController();
  const ended = AbortSignal.any([signal, timer.signal]);
  const timeout = clock.sleep(limit, ended).then(() => {
    throw new AgentProblem(`The agent did not answer within ${limit / 1_000} seconds.`, 'timed_out');
  });
  timeout.catch(() => undefined);
  try {
    return await Promise.race([work(), timeout]);
  } finally {
    timer.abort();
  }
}

/** Does work that needs the agent. An error, the end of the process, or no response within the limit becomes an AgentProblem. */
async function runPhase<T>(
  connection: AgentConnection,
  program: string,
  phase: string,
  { clock, limit, signal }: { clock: Clock; limit: number; signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await withTimeLimit(clock, limit, signal, work);
  } catch (error) {
    signal.throwIfAborted();
    throw await connection.problem(error, program, phase);
  }
}
