/**
 * Connects a client that speaks the Model Context Protocol on its standard streams with the endpoint of a service.
 * Messages are passed on unchanged, and their IDs are only used to answer them. Every request gets exactly one answer;
 * notifications and the client's own answers get none. Calls that the policy does not permit are refused here, and a human request
 * is answered only with what the client's user enters in a form.
 */

import { AopsError, messageOf } from '../../base/errors.ts';
import { isObject, type JsonObject, jsonValue } from '../../base/values.ts';
import { operation } from '../../interface/operations.ts';
import type { Params } from '../../interface/types.ts';
import type { Client } from '../client.ts';
import { ServiceAnswerError } from '../errors.ts';
import { newIdempotencyKey } from '../idempotency.ts';
import { isRpcAnswer, type RpcFailure, type RpcMessage, rpcCodes } from '../json-rpc.ts';
import { header } from '../limits/rate-limit.ts';
import { readJson } from '../response.ts';
import type { TransportResponse } from '../transport.ts';
import { canElicit, formAnswer, type RequestAnswer, requestForm } from './elicitation.ts';
import { legacyHeaders, modernHeaders, postRequest } from './messages.ts';
import { ReadOnlyTools } from './read-only-tools.ts';
import { answerTool, listedTools, permitEverything, policyProblem, type ToolPolicy } from './tool-policy.ts';
import { UserForms } from './user-forms.ts';

export interface BridgeOptions {
  /** Writes a line to the client; resolves when another line can be written. */
  write(line: string): Promise<void>;
  /** Receives messages that do not go to the client. */
  log(text: string): void;
  /** Completes the commands that a text suggests to the user. */
  suggestions(text: string): string;
  /** Which tools are passed on; all by default. */
  policy?: ToolPolicy;
}

interface Session {
  version: string;
  id: string | undefined;
}

type Request = RpcMessage & { id: string | number };

export class Bridge {
  readonly #client: Client;
  readonly #options: BridgeOptions;
  readonly #tools = new ReadOnlyTools();
  /** Unanswered requests by ID: the number 1 and the string "1" are different IDs. */
  readonly #openRequests = new Map<string, AbortController>();
  readonly #tasks = new Set<Promise<void>>();
  #session: Session | undefined;
  /** The client's `initialize` request, to start a new session when the service has forgotten the current one. */
  #initializeLine: Buffer | undefined;
  #renewal: Promise<void> | undefined;
  /** Whether the client can show forms to its user. */
  #showsForms = false;
  readonly #forms: UserForms;
  /** A notification that later messages have to wait for. */
  #barrier: Promise<void> = Promise.resolve();

  constructor(client: Client, options: BridgeOptions) {
    this.#client = client;
    this.#options = options;
    this.#forms = new UserForms((line) => options.write(line));
  }

  /** Handles a line from the client. Answers are written when they arrive; lines do not wait for each other. */
  receive(line: Buffer): void {
    this.#spawn(this.#handle(line));
  }

  /** Answers a line that could not be read. */
  refuse(text: string): void {
    this.#spawn(this.#answer(null, { code: rpcCodes.invalidRequest, message: text }));
  }

  /** Resolves when no work is in progress. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  /** Aborts the requests in progress, which are answered with the reason. */
  abort(reason: Error): void {
    for (const controller of this.#openRequests.values()) controller.abort(reason);
  }

  /** Ends the session, if the service started one. */
  async close(): Promise<void> {
    if (this.#session?.id === undefined) return;
    const request = {
      method: 'DELETE',
      path: operation('callMcp').path,
      headers: this.#legacyHeaders(),
      mutates: false,
      statusOnly: true,
    } as const;
    await this.#client.send(request).catch(() => undefined);
  }

  #handle(line: Buffer): Promise<void> {
    const message = jsonValue(line.toString('utf8'));
    if (message === undefined)
      return this.#answer(null, { code: rpcCodes.parseError, message: 'Parse error: the line is not valid JSON.' });
    if (!isObject(message) || (typeof message.method !== 'string' && !isRpcAnswer(message)))
      return this.#answer(null, { code: rpcCodes.invalidRequest, message: 'The line is not a single JSON-RPC message.' });
    if (this.#forms.take(message)) return Promise.resolve();
    const barrier = this.#barrier;
    if (isRequest(message)) return barrier.then(() => this.#request(message, line));
    // Without an ID it could not be answered, and what must not be called must not be called without one either.
    if (typeof message.method === 'string' && !message.method.startsWith('notifications/'))
      return this.#answer(null, { code: rpcCodes.invalidRequest, message: `${message.method} needs an ID that is a string or a number.` });
    const notification = barrier.then(() => this.#notify(message as unknown as RpcMessage, line));
    if (message.method === 'notifications/initialized') this.#barrier = notification;
    return notification;
  }

  async #request(message: Request, line: Buffer): Promise<void> {
    const name = JSON.stringify(message.id);
    const controller = new AbortController();
    this.#openRequests.set(name, controller);
    try {
      const problem = policyProblem(this.#policy, message);
      if (problem !== undefined) return await this.#refuseRequest(message, problem);
      const permitted = await this.#permittedMessage(message, line, controller.signal);
      if (permitted === undefined || controller.signal.reason === cancellation) return;
      const response = await this.#post(message, permitted, controller.signal);
      if (controller.signal.reason === cancellation) return;
      this.#remember(message, line, response);
      await this.#writeAnswer(message, response.body.toString('utf8'));
    } catch (error) {
      if (controller.signal.reason !== cancellation) await this.#answer(message.id, failureOf(error));
    } finally {
      if (this.#openRequests.get(name) === controller) this.#openRequests.delete(name);
    }
  }

  get #policy(): ToolPolicy {
    return this.#options.policy ?? permitEverything;
  }

  /** Whether a tool is listed: it has to be permitted, and an answer needs a client that can ask its user. */
  #isListed(name: string): boolean {
    const { permitted } = this.#policy;
    return (permitted === undefined || permitted.has(name)) && (name !== answerTool || this.#showsForms);
  }

  /** The line to send for a request; undefined if it was answered here. */
  async #permittedMessage(message: Request, line: Buffer, signal: AbortSignal): Promise<Buffer | undefined> {
    if (message.method !== 'tools/call') return line;
    if (message.params?.name === answerTool) return this.#askUser(message, signal);
    // Exactly what was checked is sent, even if a member appears twice in the line.
    return this.#policy.permitted === undefined ? line : Buffer.from(JSON.stringify(message));
  }

  /** Lets the client's user answer a human request. The arguments of the model only say which one. */
  async #askUser(message: Request, signal: AbortSignal): Promise<Buffer | undefined> {
    const args = isObject(message.params?.arguments) ? message.params.arguments : {};
    const { run_id, request_id } = args;
    if (!this.#showsForms) return this.#refuseRequest(message, noForms);
    if (typeof run_id !== 'string' || typeof request_id !== 'string')
      return this.#refuseRequest(message, 'run_id and request_id are required.');
    const { pending_human_request: request } = await this.#client.call('getRun', { params: { run_id } }, { signal });
    if (request?.id !== request_id)
      return this.#refuseRequest(message, `The run does not wait for the human request ${request_id}. get_run returns its current state.`);
    const answer = formAnswer(request, await this.#forms.show(requestForm(run_id, request), signal));
    if (answer === undefined)
      return this.#refuseRequest(message, 'The user did not decide. The human request is still pending; do not ask again on your own.');
    return this.#sendAnswer(message, { run_id, request_id }, answer, signal);
  }

  /** Sends what the user decided. The endpoint itself accepts no answer, because it cannot know who decided. */
  async #sendAnswer(
    { id }: Request,
    params: Params<'respondToHumanRequest'>,
    body: RequestAnswer,
    signal: AbortSignal,
  ): Promise<undefined> {
    let result: JsonObject;
    try {
      const answered = await this.#client.call('respondToHumanRequest', { params, body }, { signal });
      const { title, response } = answered.human_request;
      const text = `The user answered "${title}": ${response ?? ''}. Follow the run with wait_for_run.`;
      result = { content: [{ type: 'text', text }], structuredContent: answered };
    } catch (error) {
      if (!(error instanceof ServiceAnswerError)) throw error;
      result = { content: [{ type: 'text', text: error.message }], isError: true };
    }
    await this.#options.write(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return undefined;
  }

  /** Answers a request without sending it. A call of a tool gets a result, because that is what a model reads. */
  async #refuseRequest({ id, method }: Request, message: string): Promise<undefined> {
    if (method !== 'tools/call') return void (await this.#answer(id, { code: rpcCodes.methodNotFound, message }));
    const result = { content: [{ type: 'text', text: this.#options.suggestions(message) }], isError: true };
    await this.#options.write(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return undefined;
  }

  /** Passes an answer on; a list of tools contains only those that the client can call. */
  async #writeAnswer({ method }: Request, text: string): Promise<void> {
    const answer = method === 'tools/list' ? jsonValue(text) : undefined;
    if (!isObject(answer) || !isObject(answer.result)) return this.#writeLine(text);
    await this.#options.write(JSON.stringify({ ...answer, result: listedTools(answer.result, (name) => this.#isListed(name)) }));
  }

  /** Sends a request, and once more in a new session if its session was forgotten: a request rejected with 404 was not carried out. */
  async #post(message: Request, line: Buffer, signal: AbortSignal): Promise<TransportResponse> {
    const session = this.#session;
    try {
      return await this.#send(message, line, signal);
    } catch (error) {
      const isForgotten = error instanceof ServiceAnswerError && error.status === 404 && session?.id !== undefined;
      if (!isForgotten || message.method === 'initialize') throw error;
      // Several requests may notice this at the same time; the first one renews the session for all.
      if (this.#session === session) this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined));
      await this.#renewal;
      return this.#send(message, line, signal);
    }
  }

  async #send(message: Request, line: Buffer, signal: AbortSignal): Promise<TransportResponse> {
    const mutates = this.#tools.isChange(message);
    const key = newIdempotencyKey();
    const onMessage = (data: string): boolean => {
      if (isRpcAnswer(jsonValue(data), message.id)) return true;
      this.#spawn(this.#writeLine(data));
      return false;
    };
    const request = { ...postRequest(line, this.#headers(message), mutates), onMessage };
    const response = await this.#client.send(request, { signal, ...(mutates ? { keys: { key, commandKey: key } } : {}) });
    const { value } = readJson(response) as { value?: unknown };
    if (isRpcAnswer(value, message.id)) return response;
    throw new AopsError(`The service answered ${response.status} without an answer to this request.`, { code: 'unusable_answer', exit: 1 });
  }

  async #notify(message: RpcMessage, line: Buffer): Promise<void> {
    if (message.method === 'notifications/cancelled') this.#cancel(message.params?.requestId);
    try {
      await this.#client.send({ ...postRequest(line, this.#headers(message), false), statusOnly: true });
    } catch (error) {
      this.#options.log(`${message.method ?? 'an answer'} did not reach the service: ${messageOf(error)}`);
    }
  }

  /** The client no longer waits for the answer: closing the connection tells the service. */
  #cancel(id: unknown): void {
    this.#openRequests.get(JSON.stringify(id))?.abort(cancellation);
  }

  async #renew(): Promise<void> {
    const initializeLine = this.#initializeLine;
    if (initializeLine === undefined) return;
    const message = jsonValue(initializeLine.toString('utf8')) as Request;
    // It has an ID of its own, because its answer is not passed on.
    const renewalLine = Buffer.from(JSON.stringify({ ...message, id: newIdempotencyKey() }));
    // Until it has an answer, the forgotten session stays: what is sent with it is rejected, and waits for the new one.
    const response = await this.#client.send(postRequest(renewalLine, {}, false));
    this.#startSession(response);
    const notification = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    await this.#client.send({ ...postRequest(notification, this.#legacyHeaders(), false), statusOnly: true });
    this.#options.log('The service had forgotten the session, so a new one was started.');
  }

  /** Learns from an answer what later messages need. */
  #remember(message: Request, line: Buffer, response: TransportResponse): void {
    this.#tools.learn(message, readJson(response));
    if (message.method !== 'initialize' || Object.keys(modernHeaders(message)).length > 0) return;
    this.#showsForms = canElicit(message.params);
    this.#initializeLine = line;
    this.#startSession(response);
  }

  #startSession(response: TransportResponse): void {
    const { value } = readJson(response) as { value?: { result?: { protocolVersion?: unknown } } };
    const version = value?.result?.protocolVersion;
    if (typeof version === 'string') this.#session = { version, id: header(response.headers, 'mcp-session-id') };
  }

  #headers(message: RpcMessage): Record<string, string> {
    const modern = message.params === undefined ? {} : modernHeaders(message);
    return Object.keys(modern).length > 0 || message.method === 'initialize' ? modern : this.#legacyHeaders();
  }

  #legacyHeaders(): Record<string, string> {
    return this.#session === undefined ? {} : legacyHeaders({ version: this.#session.version, session: this.#session.id });
  }

  #answer(id: string | number | null, { message, ...error }: RpcFailure): Promise<void> {
    const failure = { ...error, message: this.#options.suggestions(message) };
    return this.#options.write(JSON.stringify({ jsonrpc: '2.0', id, error: failure }));
  }

  /** Passes a message of the service to the client on one line, otherwise unchanged. */
  async #writeLine(text: string): Promise<void> {
    await this.#options.write(/[\r\n]/.test(text) ? JSON.stringify(JSON.parse(text)) : text);
  }

  #spawn(task: Promise<void>): void {
    const guardedTask = task.catch((error: unknown) => this.#options.log(messageOf(error)));
    this.#tasks.add(guardedTask);
    void guardedTask.finally(() => this.#tasks.delete(guardedTask));
  }
}

const noForms =
  'Only a person can answer a human request, and this client cannot show its user a form (elicitation). The user can answer with `aops inbox` or `aops runs respond RUN`, or on the page of the team.';

const cancellation = new Error('the client cancelled the request');

const isRequest = (message: Record<string, unknown>): message is Record<string, unknown> & Request =>
  typeof message.method === 'string' && (typeof message.id === 'string' || typeof message.id === 'number');

/** A failure as an answer: the service's own if it sent one, or else what happened and what to do. */
function failureOf(error: unknown): RpcFailure {
  if (error instanceof ServiceAnswerError && error.rpc !== undefined) return error.rpc;
  const message = messageOf(error);
  if (!(error instanceof AopsError)) return { code: rpcCodes.internalError, message };
  const { code, hint, details } = error;
  return {
    code: rpcCodes.serverError,
    message: hint === undefined ? message : `${message} ${hint}`,
    data: {
      error: code,
      ...(details.status === undefined ? {} : { status: details.status }),
      ...(details.request_id === undefined ? {} : { request_id: details.request_id }),
    },
  };
}
