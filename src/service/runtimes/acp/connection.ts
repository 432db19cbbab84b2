/**
 * The connection to an agent. All updates and requests from the agent wait in one queue in the order in which they were sent, so that
 * the updates that precede a request for permission, or the end of a prompt, are handled first.
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
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import { deferred } from '../../../base/deferred.ts';
import type { Redactor } from '../../../base/redaction.ts';
import { isObject } from '../../../base/values.ts';
import { version } from '../../../base/version.ts';
import type { AgentProcess } from './agent-process.ts';
import { checkedAnswer } from './answers.ts';
import { messageStream } from './message-stream.ts';
import { AgentProblem, endProblem, requestProblem } from './problems.ts';

/** A request from the agent that only a person can answer. */
export type IncomingRequest =
  | { kind: 'permission'; params: RequestPermissionRequest; respond: (response: RequestPermissionResponse) => void }
  | { kind: 'elicitation'; params: CreateElicitationRequest; respond: (response: CreateElicitationResponse) => void };

/** An entry of the queue. */
export type Incoming =
  | { kind: 'update'; sessionId: string; update: SessionUpdate }
  | { kind: 'request'; request: IncomingRequest }
  | { kind: 'closed' };

/** How long to wait for the last messages of a process that has ended, in milliseconds. */
const outputGrace = 200;
/** The number of messages that can wait. When the queue is full, no more messages are read from the agent. */
const maxQueueLength = 1_000;

export class AgentConnection {
  readonly process: AgentProcess;
  readonly #connection: ClientConnection;
  readonly #redactor: Redactor;
  readonly #queue: Incoming[] = [];
  #arrival = deferred();
  #departure = deferred();
  #isReplaying = false;

  /**
   * @param redactor applied to everything that the agent sends, before any of it is shortened
   * @param onForeignLine called with lines that are not messages
   */
  constructor(process: AgentProcess, { redactor, onForeignLine }: { redactor: Redactor; onForeignLine: (line: string) => void }) {
    this.process = process;
    this.#redactor = redactor;
    const stream = messageStream(process.input, process.output, {
      onForeignLine: (line) => onForeignLine(redactor.text(line)),
      onUpdate: (params) => this.#receiveUpdate(params),
      ready: () => this.#ready(),
    });
    this.#connection = client({ name: 'aops' })
      .onRequest('session/request_permission', ({ params, signal }) =>
        this.#enqueueRequest<RequestPermissionResponse>(
          (respond) => ({ kind: 'permission', params: redactor.value(params), respond }),
          signal,
        ),
      )
      .onRequest('elicitation/create', ({ params, signal }) =>
        this.#enqueueRequest<CreateElicitationResponse>(
          (respond) => ({ kind: 'elicitation', params: redactor.value(params), respond }),
          signal,
        ),
      )
      // Notifications of extensions.
      .onNotification('*', () => undefined)
      .connect(stream);
    void this.#connection.closed.then(() => this.#push({ kind: 'closed' }));
    // A process that the agent has started might keep the output open.
    void process.ended.then(() => delay(outputGrace)).then(() => this.close());
  }

  /** Rejects with the agent's error, with an AgentProblem if its answer cannot be used, or when the connection closes. */
  async request<Method extends AgentRequestMethod>(
    method: Method,
    params: AgentRequestParamsByMethod[Method],
    signal?: AbortSignal,
  ): Promise<AgentRequestResponsesByMethod[Method]> {
    const answer = await this.#connection.agent.request(method, params, signal === undefined ? {} : { cancellationSignal: signal });
    return checkedAnswer(method, answer) as AgentRequestResponsesByMethod[Method];
  }

  /** Asks the agent to end the current prompt. */
  async cancel(sessionId: string): Promise<void> {
    await this.#connection.agent.notify('session/cancel', { sessionId });
  }

  /** The capabilities of this client: it answers questions, and offers no files or terminals of its own. */
  get clientCapabilities() {
    return { fs: { readTextFile: false, writeTextFile: false }, terminal: false, elicitation: { form: {} } };
  }

  get clientInfo() {
    return { name: 'aops', title: 'aops', version };
  }

  /** Takes the oldest entry of the queue; undefined if the queue is empty. */
  take(): Incoming | undefined {
    const incoming = this.#queue.shift();
    if (incoming !== undefined) this.#departure.resolve();
    return incoming;
  }

  /** Resolves when the queue is not empty. */
  async arrival(): Promise<void> {
    if (this.#queue.length > 0) return;
    this.#arrival = deferred();
    await this.#arrival.promise;
  }

  /** Does work during which updates only repeat earlier ones and are ignored, such as loading a session. */
  async withoutUpdates<T>(work: () => Promise<T>): Promise<T> {
    this.#isReplaying = true;
    try {
      return await work();
    } finally {
      this.#isReplaying = false;
    }
  }

  /** Explains an error: if the process has ended, that is why the connection was closed. @param phase such as "while it was starting" */
  async problem(error: unknown, program: string, phase: string): Promise<AgentProblem> {
    if (error instanceof AgentProblem || !this.#connection.signal.aborted) return requestProblem(error, phase, this.#redactor);
    const end = await Promise.race([this.process.ended, delay(2 * outputGrace, undefined)]);
    if (end === undefined) return new AgentProblem(`The agent closed its connection ${phase}.`);
    return endProblem({ ...end, errorOutput: this.#redactor.text(this.process.errorOutput) }, program, phase);
  }

  close(): void {
    this.#connection.close();
  }

  #push(incoming: Incoming): void {
    this.#queue.push(incoming);
    this.#arrival.resolve();
  }

  /** Checks only that it is an update. Its fields are checked when they are used. */
  #receiveUpdate(params: unknown): void {
    if (this.#isReplaying || !isObject(params) || !isObject(params.update)) return;
    const { sessionId, update } = params as unknown as SessionNotification;
    this.#push({ kind: 'update', sessionId, update: this.#redactor.value(update) });
  }

  #enqueueRequest<Response>(create: (respond: (response: Response) => void) => IncomingRequest, signal: AbortSignal): Promise<Response> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#push({ kind: 'request', request: create(resolve) });
    });
  }

  async #ready(): Promise<void> {
    while (this.#queue.length >= maxQueueLength) {
      this.#departure = deferred();
      await this.#departure.promise;
    }
  }
}
