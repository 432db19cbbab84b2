/**
 * The connection to an agent: requests to it, and what it sends in the order in which it was sent. Everything waits in one queue, so
 * that the updates before a request for permission, or before the end of a prompt, are handled before it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type AgentRequestMethod,
  type AgentRequestParamsByMethod,
  type AgentRequestResponsesByMethod,
  type ClientConnection,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  client,
  type RequestPermissionOutcome,
  type RequestPermissionRequest,
  type SessionNotification,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { deferred } from '../../../base/deferred.ts';
import { isObject } from '../../../base/values.ts';
import { version } from '../../../base/version.ts';
import type { AgentProcess } from './agent-process.ts';
import { messageStream } from './message-stream.ts';
import { AgentProblem, endProblem, requestProblem } from './problems.ts';

/** Something that only a person can answer. */
export type Ask =
  | { kind: 'permission'; request: RequestPermissionRequest; respond: (outcome: RequestPermissionOutcome) => void }
  | { kind: 'elicitation'; request: CreateElicitationRequest; respond: (response: CreateElicitationResponse) => void };

/** What an agent sends. */
export type Incoming = { kind: 'update'; sessionId: string; update: SessionUpdate } | { kind: 'ask'; ask: Ask } | { kind: 'closed' };

/** How long to wait for the last messages of a process that has ended, in milliseconds. */
const lastOutput = 200;
/** The number of messages that can wait. After that, the agent has to wait with more of them. */
const longestQueue = 1_000;

export class AgentConnection {
  readonly process: AgentProcess;
  readonly #connection: ClientConnection;
  readonly #queue: Incoming[] = [];
  #arrival = deferred();
  #departure = deferred();
  #isReplaying = false;

  /** @param onForeignLine called with lines that are not messages */
  constructor(process: AgentProcess, onForeignLine: (line: string) => void) {
    this.process = process;
    const stream = messageStream(process.input, process.output, {
      onForeignLine,
      onUpdate: (params) => this.#receiveUpdate(params),
      ready: () => this.#ready(),
    });
    this.#connection = client({ name: 'aops' })
      .onRequest('session/request_permission', ({ params, signal }) =>
        this.#ask<RequestPermissionOutcome>((respond) => ({ kind: 'permission', request: params, respond }), signal).then((outcome) => ({
          outcome,
        })),
      )
      .onRequest('elicitation/create', ({ params, signal }) =>
        this.#ask<CreateElicitationResponse>((respond) => ({ kind: 'elicitation', request: params, respond }), signal),
      )
      // Notifications of extensions.
      .onNotification('*', () => undefined)
      .connect(stream);
    void this.#connection.closed.then(() => this.#push({ kind: 'closed' }));
    // A process that it has started might keep the output open.
    void process.ended.then(() => delay(lastOutput)).then(() => this.close());
  }

  /** Rejects with the agent's error, or when the connection closes. */
  request<Method extends AgentRequestMethod>(
    method: Method,
    params: AgentRequestParamsByMethod[Method],
    signal?: AbortSignal,
  ): Promise<AgentRequestResponsesByMethod[Method]> {
    return this.#connection.agent.request(method, params, signal === undefined ? {} : { cancellationSignal: signal });
  }

  /** Asks the agent to end the current prompt. */
  async cancel(sessionId: string): Promise<void> {
    await this.#connection.agent.notify('session/cancel', { sessionId });
  }

  /** The capabilities that this client has: it answers questions, and has no files or terminals of its own. */
  get clientCapabilities() {
    return { fs: { readTextFile: false, writeTextFile: false }, terminal: false, elicitation: { form: {} } };
  }

  get clientInfo() {
    return { name: 'aops', title: 'aops', version };
  }

  /** What has arrived and was not taken, without waiting. */
  take(): Incoming | undefined {
    const incoming = this.#queue.shift();
    if (incoming !== undefined) this.#departure.resolve();
    return incoming;
  }

  /** Resolves when something can be taken. */
  async arrival(): Promise<void> {
    if (this.#queue.length > 0) return;
    this.#arrival = deferred();
    await this.#arrival.promise;
  }

  /** Carries out something during which updates repeat what is already known, such as the loading of a session. */
  async withoutUpdates<T>(work: () => Promise<T>): Promise<T> {
    this.#isReplaying = true;
    try {
      return await work();
    } finally {
      this.#isReplaying = false;
    }
  }

  /** What an error means: the end of the process explains why the connection was closed. @param phase such as "while it was starting" */
  async problem(error: unknown, program: string, phase: string): Promise<AgentProblem> {
    if (error instanceof AgentProblem || !this.#connection.signal.aborted) return requestProblem(error, phase);
    const end = await Promise.race([this.process.ended, delay(2 * lastOutput, undefined)]);
    if (end === undefined) return new AgentProblem(`The agent closed its connection ${phase}.`);
    return endProblem({ ...end, errorOutput: this.process.errorOutput }, program, phase);
  }

  close(): void {
    this.#connection.close();
  }

  #push(incoming: Incoming): void {
    this.#queue.push(incoming);
    this.#arrival.resolve();
  }

  /** Only the kind of an update is checked here; its fields are when they are used. */
  #receiveUpdate(params: unknown): void {
    if (this.#isReplaying || !isObject(params) || !isObject(params.update)) return;
    const { sessionId, update } = params as unknown as SessionNotification;
    this.#push({ kind: 'update', sessionId, update });
  }

  #ask<Response>(create: (respond: (response: Response) => void) => Ask, signal: AbortSignal): Promise<Response> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#push({ kind: 'ask', ask: create(resolve) });
    });
  }

  async #ready(): Promise<void> {
    while (this.#queue.length >= longestQueue) {
      this.#departure = deferred();
      await this.#departure.promise;
    }
  }
}
