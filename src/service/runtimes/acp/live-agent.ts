/** An agent that is running, with its session: how it is started, prompted, and ended. */
import type { InitializeResponse, McpServer, PromptResponse, SessionUpdate } from '@agentclientprotocol/sdk';
import type { Clock } from '../../../base/clock.ts';
import type { Launcher, LaunchRequest } from '../../sandbox/launch.ts';
import { AgentProcess } from './agent-process.ts';
import { AgentConnection, type Ask } from './connection.ts';
import { chooseMode, type ModeChoice, type OfferedModes } from './modes.ts';
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
  /** How to sign in, by the ID of the method; undefined if it is not needed. */
  authentication: string | undefined;
  servers: McpServer[];
  clock: Clock;
  /** Creates the IDs of events. */
  nextEventId: () => string;
  onForeignLine: (line: string) => void;
  /** Called with the first answer of the agent, before it is checked. */
  onInitialize?: (info: InitializeResponse) => void;
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
  readonly updates: SessionUpdates;
  readonly connection: AgentConnection;
  /** Requests that a person has to answer, oldest first. */
  readonly asks: Ask[] = [];
  /** The prompt in progress. */
  prompt: Promise<PromptResponse> | undefined;
  readonly #program: string;
  readonly #limits: AcpLimits;

  private constructor(connection: AgentConnection, opened: OpenedSession, info: InitializeResponse, options: OpenOptions) {
    const { launch, nextEventId, limits } = options;
    this.connection = connection;
    this.#program = launch.program;
    this.#limits = limits;
    this.sessionId = opened.sessionId;
    this.origin = opened.origin;
    this.replacementReason = opened.reason;
    this.mode = opened.mode;
    this.name = info.agentInfo?.title ?? info.agentInfo?.name ?? launch.program;
    this.version = info.agentInfo?.version ?? 'unknown';
    this.updates = new SessionUpdates(nextEventId, launch.directory);
  }

  /** Starts an agent and opens its session. @throws AgentProblem, or the signal's reason */
  static async open(options: OpenOptions): Promise<LiveAgent> {
    const { launch, clock, signal } = options;
    signal.throwIfAborted();
    const process = await AgentProcess.start(options.launcher, launch);
    const connection = new AgentConnection(process, options.onForeignLine);
    const { program } = launch;
    try {
      return await during(connection, program, 'while it was starting', { clock, limit: options.limits.start, signal }, async () => {
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
        const opened = await openSession(connection, info, options);
        return new LiveAgent(connection, opened, info, options);
      });
    } catch (error) {
      connection.close();
      await process.end(0);
      throw error;
    }
  }

  /** Begins a prompt. */
  begin(text: string): void {
    this.prompt = this.connection.request('session/prompt', { sessionId: this.sessionId, prompt: [{ type: 'text', text }] });
    // Its failure is handled where its end is awaited.
    this.prompt.catch(() => undefined);
  }

  /** The updates that have arrived; requests are added to `asks`. Returns whether the connection is closed. */
  receive(accept: (update: SessionUpdate) => void): { isClosed: boolean } {
    for (;;) {
      const incoming = this.connection.take();
      if (incoming === undefined) return { isClosed: false };
      if (incoming.kind === 'closed') return { isClosed: true };
      if (incoming.kind === 'update') {
        if (incoming.sessionId === this.sessionId) accept(incoming.update);
      } else {
        this.asks.push(incoming.ask);
        // What follows is handled after the request.
        return { isClosed: false };
      }
    }
  }

  /** Answers all requests as cancelled, which allows nothing. */
  cancelAsks(): void {
    for (const ask of this.asks.splice(0)) cancelAsk(ask);
  }

  /** What an error means: the process might have ended. @param phase such as "while it was working" */
  problem(error: unknown, phase: string): Promise<AgentProblem> {
    return this.connection.problem(error, this.#program, phase);
  }

  /** Cancels the prompt, answers all requests as cancelled, and ends the process group; within 6 seconds altogether. */
  async stop(clock: Clock): Promise<void> {
    this.cancelAsks();
    if (this.prompt !== undefined) {
      const ended = this.prompt.then(
        () => undefined,
        () => undefined,
      );
      const timer = new AbortController();
      await this.connection.cancel(this.sessionId).catch(() => undefined);
      const answering = this.#cancelLaterAsks(timer.signal);
      await Promise.race([ended, clock.sleep(this.#limits.cancel, timer.signal).catch(() => undefined)]);
      timer.abort();
      await answering;
    }
    await this.end(endGrace);
  }

  /** Requests that arrive after the cancellation are cancelled, too: Gemini waits for that. */
  async #cancelLaterAsks(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      if (this.receive(() => undefined).isClosed) return;
      this.cancelAsks();
      await Promise.race([this.connection.arrival(), aborted]);
    }
  }

  /** Ends the process group. @param grace milliseconds between SIGTERM and SIGKILL */
  async end(grace = endGrace): Promise<void> {
    this.connection.close();
    await this.connection.process.end(grace);
  }
}

function cancelAsk(ask: Ask): void {
  if (ask.kind === 'permission') ask.respond({ outcome: 'cancelled' });
  else ask.respond({ action: 'cancel' });
}

interface OpenedSession {
  sessionId: string;
  origin: SessionOrigin;
  reason?: string;
  mode: ModeChoice | undefined;
}

/** Continues the earlier session if the agent can; otherwise, or if that fails, opens a new one. */
async function openSession(connection: AgentConnection, info: InitializeResponse, options: OpenOptions): Promise<OpenedSession> {
  const { earlierSession: sessionId, servers: mcpServers, launch } = options;
  const place = { cwd: launch.directory, mcpServers };
  const { sessionCapabilities, loadSession } = info.agentCapabilities ?? {};
  const reasons: string[] = [];
  if (sessionId !== undefined && sessionCapabilities?.resume != null) {
    try {
      const resumed = await connection.request('session/resume', { sessionId, ...place });
      return { sessionId, origin: 'resumed', mode: await switchMode(connection, sessionId, resumed, options) };
    } catch (error) {
      reasons.push(`resuming it failed: ${messageOf(error)}`);
    }
  }
  if (sessionId !== undefined && loadSession === true) {
    try {
      // The conversation that the agent repeats is in the transcript already.
      const loaded = await connection.withoutUpdates(() =>
        within(options.clock, options.limits.load, options.signal, () => connection.request('session/load', { sessionId, ...place })),
      );
      return { sessionId, origin: 'loaded', mode: await switchMode(connection, sessionId, loaded ?? {}, options) };
    } catch (error) {
      options.signal.throwIfAborted();
      reasons.push(`loading it failed: ${messageOf(error)}`);
    }
  }
  const created = await connection.request('session/new', place);
  const mode = await switchMode(connection, created.sessionId, created, options);
  if (sessionId === undefined) return { sessionId: created.sessionId, origin: 'new', mode };
  const reason = reasons.length === 0 ? 'the agent cannot continue sessions' : reasons.join('; ');
  return { sessionId: created.sessionId, origin: 'replaced', reason, mode };
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String((error as { message?: unknown }).message ?? error);

/** Switches to the mode before the first prompt. */
async function switchMode(
  connection: AgentConnection,
  sessionId: string,
  offered: OfferedModes,
  { mode: wanted }: OpenOptions,
): Promise<ModeChoice | undefined> {
  const choice = chooseMode(offered, wanted);
  if (choice?.change?.by === 'mode') await connection.request('session/set_mode', { sessionId, modeId: choice.mode });
  if (choice?.change?.by === 'option')
    await connection.request('session/set_config_option', { sessionId, configId: choice.change.optionId, value: choice.mode });
  return choice;
}

/** Rejects after a time limit. @param limit milliseconds */
async function within<T>(clock: Clock, limit: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const timer = new AbortController();
  const ended = AbortSignal.any([signal, timer.signal]);
  const late = clock.sleep(limit, ended).then(() => {
    throw new AgentProblem(`The agent did not answer within ${limit / 1_000} seconds.`, 'timed_out');
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work(), late]);
  } finally {
    timer.abort();
  }
}

/** Does something with an agent. Its errors, its end, and its silence become problems. */
async function during<T>(
  connection: AgentConnection,
  program: string,
  phase: string,
  { clock, limit, signal }: { clock: Clock; limit: number; signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await within(clock, limit, signal, work);
  } catch (error) {
    signal.throwIfAborted();
    throw await connection.problem(error, program, phase);
  }
}
