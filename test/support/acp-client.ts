/** A plain client of the Agent Client Protocol, which starts an agent and records what it sends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { PassThrough, Readable, Writable } from 'node:stream';
import {
  type ClientConnection,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  client,
  type InitializeResponse,
  methods,
  type NewSessionResponse,
  ndJsonStream,
  type PermissionOption,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { ignoreErrors } from '../../src/base/ignore-errors.ts';
import { afterTest } from './temporary.ts';

/** The kind of the option to select, or `cancelled`. */
export type Decision = PermissionOption['kind'] | 'cancelled';

/** How a session is opened or continued. */
export interface AgentSettings {
  /** The authentication method to select first, if any. */
  authentication?: string;
  /** The session mode to set, if any. */
  strictestMode?: string;
}

export class AcpClient {
  /** All lines of the agent, without line ends. */
  readonly lines: string[] = [];
  readonly updates: SessionUpdate[] = [];
  readonly permissions: RequestPermissionRequest[] = [];
  /** The answer to each form. */
  fill: (request: CreateElicitationRequest) => CreateElicitationResponse = () => ({ action: 'cancel' });
  /** The decision about each permission. */
  decide: (request: RequestPermissionRequest) => Decision | Promise<Decision> = () => 'reject_once';
  readonly workspace: string;
  readonly home: string;
  readonly child: ChildProcess;
  readonly #connection: ClientConnection;
  #sessionId = '';

  private constructor(folder: string, child: ChildProcess) {
    this.child = child;
    this.workspace = path.join(folder, 'workspace');
    this.home = path.join(folder, 'home');
    const output = new PassThrough();
    (child.stdout as Readable).pipe(output);
    createInterface({ input: child.stdout as Readable }).on('line', (line) => this.lines.push(line));
    this.#connection = client({ name: 'aops-test' })
      .onNotification(methods.client.session.update, ({ params }) => void this.updates.push(params.update))
      .onRequest(methods.client.session.requestPermission, async ({ params }) => {
        this.permissions.push(params);
        const decision = await this.decide(params);
        const option = params.options.find(({ kind }) => kind === decision);
        if (option === undefined) return { outcome: { outcome: 'cancelled' as const } };
        return { outcome: { outcome: 'selected' as const, optionId: option.optionId } };
      })
      .onRequest(methods.client.elicitation.create, ({ params }) => this.fill(params))
      .connect(ndJsonStream(Writable.toWeb(child.stdin as Writable), Readable.toWeb(output) as ReadableStream<Uint8Array>));
  }

  /**
   * Starts an agent with an empty HOME and an empty workspace in the folder; ends it with its whole process group after the test.
   * @param environment in addition to PATH and HOME
   */
  static async start(command: readonly [string, ...string[]], environment: Record<string, string>, folder: string): Promise<AcpClient> {
    const [program, ...args] = command;
    for (const name of ['workspace', 'home']) await mkdir(path.join(folder, name), { recursive: true });
    const child = spawn(program, args, {
      cwd: path.join(folder, 'workspace'),
      env: { PATH: process.env.PATH, HOME: path.join(folder, 'home'), ...environment },
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    const client = new AcpClient(folder, child);
    afterTest(() => client.kill());
    return client;
  }

  initialize(): Promise<InitializeResponse> {
    return this.#connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'aops-test', version: '1' },
      clientCapabilities: { elicitation: { form: {} } },
    });
  }

  /** Selects the authentication method, if any, opens a session in the workspace, and sets its mode, if any. */
  async open({ authentication, strictestMode }: AgentSettings = {}): Promise<NewSessionResponse> {
    if (authentication !== undefined) await this.#authenticate(authentication);
    const session = await this.#connection.agent.request(methods.agent.session.new, { cwd: this.workspace, mcpServers: [] });
    this.#sessionId = session.sessionId;
    if (strictestMode !== undefined) await this.#setMode(strictestMode);
    return session;
  }

  /** Continues a session of an earlier process, in the same way: with `session/resume`, or with `session/load`. */
  async continue(sessionId: string, way: 'resume' | 'load', { authentication, strictestMode }: AgentSettings = {}): Promise<void> {
    if (authentication !== undefined) await this.#authenticate(authentication);
    await this.#connection.agent.request(methods.agent.session[way], { sessionId, cwd: this.workspace, mcpServers: [] });
    this.#sessionId = sessionId;
    if (strictestMode !== undefined) await this.#setMode(strictestMode);
  }

  /** Kills the agent with its whole process group. */
  async kill(): Promise<void> {
    const { child } = this;
    const endPromise = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, 'exit');
    ignoreErrors(() => process.kill(-(child.pid as number), 'SIGKILL'));
    await endPromise;
  }

  /** Asks the agent to end the turn. */
  cancel(): Promise<void> {
    return this.#connection.agent.notify(methods.agent.session.cancel, { sessionId: this.#sessionId });
  }

  /** Performs a turn. */
  prompt(text: string): Promise<PromptResponse> {
    return this.#connection.agent.request(methods.agent.session.prompt, { sessionId: this.#sessionId, prompt: [{ type: 'text', text }] });
  }

  /** The text of the agent's messages so far. */
  get text(): string {
    return this.updates
      .map((update) => (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text' ? update.content.text : ''))
      .join('');
  }

  async #authenticate(methodId: string): Promise<void> {
    await this.#connection.agent.request(methods.agent.authenticate, { methodId });
  }

  async #setMode(modeId: string): Promise<void> {
    await this.#connection.agent.request(methods.agent.session.setMode, { sessionId: this.#sessionId, modeId });
  }
}
