/**
 * The HTTP core: one loop that every request passes. It keeps one idempotency key for all attempts of a change,
 * waits out rate limits, and retries what the policy lets it, under the caller's deadline. It knows no terminal:
 * what a person should see of it goes to `onEvent`.
 */

import { anySignal, sharedSignal } from '../base/abort.ts';
import { type Clock, steadyTime, systemClock } from '../base/clock.ts';
import { AopsError, type ErrorDetails } from '../base/errors.ts';
import type { Dispatcher } from '../base/undici.ts';
import type { Input, JsonOperationId, Response, StreamOperationId } from '../interface/types.ts';
import { checkAnswer } from './answers.ts';
import { backoff, retryPolicy } from './backoff.ts';
import { abandonedChange, asNotOffered, DeadlineError, OutcomeUnknownError, RateLimitedError } from './errors.ts';
import { EventConnector, type OpenEventsOptions } from './event-connector.ts';
import type { EventReader } from './event-reader.ts';
import { ChangeKeys, checkedIdempotencyKey, newIdempotencyKey, replacementKey } from './idempotency.ts';
import { Pacer } from './limits/pacing.ts';
import { type Allowance, RateGate } from './limits/rate-gate.ts';
import { header, type ResponseHeaders, retryAfter, serverTime, spread } from './limits/rate-limit.ts';
import { openDispatcher } from './network/network.ts';
import type { CallOptions, ClientEvent, ClientOptions } from './options.ts';
import { type Decision, decide, leavesOpen, type Progress, unlessOpen } from './policy.ts';
import { operationRequest, type ServiceRequest } from './request.ts';
import { isReplayed, readJson, readMedia } from './response.ts';
import { RetryBudget } from './retry-budget.ts';
import { followConnections, Sending } from './sending.ts';
import { timeLimited } from './time-limit.ts';
import { attempt, type Outcome, type TransportResponse } from './transport.ts';

export type { CallOptions, ClientEvent, ClientOptions } from './options.ts';

export class Client {
  readonly baseUrl: string;
  /** The base URL in parts. */
  readonly #base: { origin: string; prefix: string };
  readonly #options: ClientOptions;
  readonly #clock: Clock;
  readonly #gate: RateGate;
  readonly #pacer: Pacer;
  readonly #budget: RetryBudget;
  readonly #random: () => number;
  readonly #maxWait: number;
  #keys: ChangeKeys | undefined;
  #events: EventConnector | undefined;
  readonly #waitListeners = new Set<(milliseconds: number) => void>();
  #dispatcher: Promise<Dispatcher> | undefined;
  readonly #closed = new AbortController();
  /** The end of the client, or of whoever uses it. */
  readonly #signal: AbortSignal;

  /** @throws UsageError for an idempotency key that cannot be sent */
  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl;
    const { origin, pathname } = new URL(options.baseUrl);
    this.#base = { origin, prefix: pathname.replace(/\/$/, '') };
    this.#options = options;
    followConnections();
    this.#signal = options.signal === undefined ? sharedSignal(this.#closed.signal) : sharedSignal(options.signal, this.#closed.signal);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#budget = options.retryBudget ?? new RetryBudget();
    this.#maxWait = options.maxWaitMilliseconds ?? retryPolicy.maxWaitMilliseconds;
    this.#gate = new RateGate(this.#clock, this.#random, options.sharedLimits);
    this.#pacer = new Pacer({
      clock: this.#clock,
      gate: this.#gate,
      maxWait: this.#maxWait,
      deadline: options.deadline,
      onWaiting: (waitMilliseconds) => {
        this.#emit({ type: 'rate_limit.waiting', waitMilliseconds });
        for (const listener of this.#waitListeners) listener(waitMilliseconds);
      },
      onResumed: () => this.#emit({ type: 'rate_limit.resumed' }),
    });
    if (options.idempotencyKey !== undefined) this.#keys = new ChangeKeys(checkedIdempotencyKey(options.idempotencyKey));
  }

  /**
   * Calls an operation of the contract.
   * @throws ServiceAnswerError for an error status, NotOfferedError, OutcomeUnknownError, UnavailableError, RateLimitedError, UnusableAnswerError,
   *   or the signal's reason, which names the key where a change may have been carried out
   */
  async call<Id extends JsonOperationId>(id: Id, input: Input<Id>, options: CallOptions = {}): Promise<Response<Id>> {
    const request = operationRequest(id, input);
    const response = await this.send(request, options).catch((error: unknown) => {
      throw asNotOffered(id, error);
    });
    return checkAnswer(id, readJson(response), { status: response.status, method: request.method, path: request.path });
  }

  /** Takes the keys of the next change of a target: changes sent side by side take them in a fixed order, before they start. */
  reserveKeys(method: string, path: string): { key: string; commandKey: string } {
    this.#keys ??= new ChangeKeys(newIdempotencyKey());
    return { key: this.#keys.next(method, path), commandKey: this.#keys.command };
  }

  /** Takes the keys of a change that may be sent several times until it is answered, so that it is carried out once. */
  keysFor<Id extends JsonOperationId>(id: Id, input: Input<Id>): { key: string; commandKey: string } {
    const { method, path } = operationRequest(id, input);
    return this.reserveKeys(method, path);
  }

  /** Sends a request, of the contract or not. The answer has a success status and, unless it is a 204, a JSON body. */
  async send(request: ServiceRequest, options: CallOptions = {}): Promise<TransportResponse> {
    const keys = request.mutates ? (options.keys ?? this.reserveKeys(request.method, request.path)) : {};
    const progress: Progress = {
      key: undefined,
      commandKey: undefined,
      ...keys,
      retries: 0,
      ambiguous: false,
      refreshed: false,
      rekeyed: false,
      resent: false,
    };
    const signal = anySignal([this.#signal, options.signal]);
    const settled = options.confidential ? async () => undefined : await this.#noteChange(request, progress);
    try {
      const response = await this.#perform(request, progress, signal, options.once === true);
      await settled();
      const repeated = this.#options.idempotencyKey !== undefined && progress.retries === 0 && isReplayed(response);
      if (repeated) this.#emit({ type: 'replayed', method: request.method, path: request.path });
      return response;
    } catch (error) {
      const ranOut = (signal.aborted && error === signal.reason) || error instanceof DeadlineError;
      if (ranOut && progress.ambiguous) throw abandonedChange(error, detailsOf(request, progress));
      if (!(error instanceof OutcomeUnknownError)) await settled();
      throw error;
    }
  }

  /** Keeps a change in the journal until its outcome is known: until the returned function is called. */
  async #noteChange(request: ServiceRequest, { key, commandKey }: Progress): Promise<() => Promise<void>> {
    const { journal } = this.#options;
    if (!journal || key === undefined || commandKey === undefined || !(await journal.open(request, { key, commandKey }, this.baseUrl)))
      return async () => undefined;
    return () => journal.settle(key, this.baseUrl);
  }

  /** Attempts until the policy is content or gives up. */
  async #perform(request: ServiceRequest, progress: Progress, signal: AbortSignal, once: boolean): Promise<TransportResponse> {
    for (;;) {
      await unlessLeftOpen(progress, signal, () => this.#pacer.enter(signal, detailsOf(request, progress)));
      const { outcome, authorization } = await this.#sendOnce(request, progress, signal).finally(() => this.#gate.leave());
      const decision = decide(outcome, {
        progress,
        baseUrl: this.baseUrl,
        details: detailsOf(request, progress, outcome),
        rejectedHint: this.#options.rejectedHint,
        maxWaitMilliseconds: this.#maxWait,
        now: this.#gate.server.now(),
        affordable: this.#budget.affordable,
        once: once || this.#budget.never,
        random: this.#random,
      });
      progress.ambiguous ||= leavesOpen(outcome);
      if (decision.next === 'done') {
        this.#budget.succeeded(progress.retries > 0);
        return decision.response;
      }
      await this.#carryOn(decision, request, progress, { authorization, signal });
    }
  }

  /** One attempt, authorised as things are now. An abort leaves a change open once its head is on the way. */
  async #sendOnce(request: ServiceRequest, progress: Progress, signal: AbortSignal): Promise<{ outcome: Outcome; authorization: string }> {
    const authorization = await unlessLeftOpen(progress, signal, () => this.#options.credential.authorization(signal));
    const { key } = progress;
    if (key === undefined) return { outcome: await this.#attempt(request, { ...request.headers, authorization }, signal), authorization };
    const sending = new Sending(key);
    try {
      const outcome = await this.#attempt(request, { ...request.headers, authorization, 'idempotency-key': key }, signal);
      if (outcome.kind === 'response') return { outcome, authorization };
      const maybeSent = outcome.maybeSent && sending.begun;
      return { outcome: { ...outcome, maybeSent, stale: maybeSent && !outcome.final && sending.stale }, authorization };
    } catch (reason) {
      progress.ambiguous ||= sending.begun;
      throw reason;
    } finally {
      sending.end();
    }
  }

  /**
   * Opens a stream of events, continuing after the event with an id. It is tried once.
   * @throws NoStreamError when there is no stream, the connection's failure, RateLimitedError, or the signal's reason
   */
  openEvents<Id extends StreamOperationId>(id: Id, input: Input<Id>, options: OpenEventsOptions): Promise<EventReader> {
    this.#events ??= new EventConnector({
      base: this.#base,
      clock: this.#clock,
      gate: this.#gate,
      pacer: this.#pacer,
      credential: this.#options.credential,
      userAgent: this.#options.userAgent,
      signal: this.#signal,
      dispatcher: () => this.dispatcher(),
      emit: (event) => this.#emit(event),
    });
    return this.#events.open(id, operationRequest(id, input), options);
  }

  /** What is left of the rate limit that everyone with this credential shares; undefined when the service does not say. */
  get allowance(): Allowance | undefined {
    return this.#gate.allowance;
  }

  /** Tells `listener` of waits for the rate limit, in milliseconds, until the returned function is called. */
  onWaiting(listener: (milliseconds: number) => void): () => void {
    this.#waitListeners.add(listener);
    return () => this.#waitListeners.delete(listener);
  }

  /**
   * Ends all connections, and what goes on still: of requests side by side, the others of one that failed would be tried again, and the
   * process wait for them. The client cannot be used afterwards.
   */
  async close(): Promise<void> {
    this.#closed.abort(new Error('The client was closed.'));
    // One that could not be opened was told of by the request that needed it.
    await (await this.#dispatcher?.catch(() => undefined))?.destroy();
  }

  /** The dispatcher, also for file transfers, which the core's loop does not carry. One `close` ends it all. */
  dispatcher(): Promise<Dispatcher> {
    this.#dispatcher ??= openDispatcher(this.#options.network);
    return this.#dispatcher;
  }

  /**
   * Waits before retry `retry` (0 for the first) of a file transfer, saying why; as long as the answer asks for, if it does.
   * @throws the failure itself when the process has retried enough; RateLimitedError when the wait is longer than the user allows
   */
  async backOff(retry: number, failure: Error, signal: AbortSignal, headers: ResponseHeaders = {}): Promise<void> {
    if (!this.#budget.affordable) throw failure;
    const asked = retryAfter(headers, serverTime(headers, this.#clock.now())) ?? 0;
    if (asked > this.#maxWait) throw new RateLimitedError(asked, this.#maxWait, {});
    const waitMilliseconds = Math.max(spread(asked, this.#random), backoff(retry, this.#random));
    this.#budget.take();
    await this.#pause(
      { waitMilliseconds, reason: failure.message.replace(/\.$/, ''), attempt: retry + 1 },
      anySignal([this.#closed.signal, signal]),
      {},
    );
  }

  async #pause(
    retry: { waitMilliseconds: number; reason: string; attempt: number },
    signal: AbortSignal,
    details: ErrorDetails,
  ): Promise<void> {
    await this.#pacer.pause(retry.waitMilliseconds, retry.reason, signal, details, () => this.#emit({ type: 'retry', ...retry }));
  }

  async #attempt(request: ServiceRequest, headers: Record<string, string>, signal: AbortSignal): Promise<Outcome> {
    const { origin, prefix } = this.#base;
    const path = prefix + request.path;
    // Without the last one a service may compress as it likes (RFC 9110, 12.5.3).
    const manners = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': this.#options.userAgent };
    const requestHeaders = { ...manners, ...headers };
    const dispatcher = await this.dispatcher();
    const started = steadyTime(this.#clock);
    const run = (limit: AbortSignal): Promise<Outcome> =>
      attempt(dispatcher, {
        origin,
        path,
        method: request.method,
        headers: requestHeaders,
        signal: limit,
        onHead: (answered) => this.#gate.observe(answered, started, steadyTime(this.#clock)),
        onMessage: request.onMessage,
        media: request.media,
        ...(request.body === undefined ? {} : { body: request.body }),
      });
    const outcome = await timeLimited(this.#clock, signal, run, request.attemptMilliseconds);
    const milliseconds = Math.round(steadyTime(this.#clock) - started);
    const traced = { ...requestHeaders, authorization: `${headers.authorization?.split(' ', 1)[0]} ***` };
    const trace = { type: 'trace', method: request.method, url: origin + path, requestHeaders: traced, milliseconds } as const;
    if (outcome.kind === 'failure') {
      this.#emit({ ...trace, reason: outcome.reason });
      return outcome;
    }
    this.#emit({ ...trace, status: outcome.response.status, responseHeaders: outcome.response.headers });
    if (request.media && outcome.response.status < 300) outcome.response.reading = readMedia(outcome.response, request.media.type);
    if (request.statusOnly && outcome.response.status < 300) outcome.response.reading = { value: undefined };
    return outcome;
  }

  /** Does what the decision asks before the next attempt, or throws its error. */
  async #carryOn(
    decision: Exclude<Decision, { next: 'done' }>,
    request: ServiceRequest,
    progress: Progress,
    { authorization, signal }: { authorization: string; signal: AbortSignal },
  ): Promise<void> {
    const details = detailsOf(request, progress);
    switch (decision.next) {
      case 'fail':
        throw decision.error;
      case 'refresh':
        progress.refreshed = true;
        if (await unlessLeftOpen(progress, signal, async () => this.#options.credential.refresh?.(authorization, signal))) return;
        throw decision.otherwise;
      case 'resend':
        progress.resent = true;
        return this.#pause({ waitMilliseconds: 0, reason: decision.reason, attempt: progress.retries + 1 }, signal, details);
      case 'wait':
        // The pause is at the gate, where the others wait as well.
        this.#gate.close(decision.waitMilliseconds);
        progress.retries += 1;
        return this.#budget.take();
      case 'rekey':
        progress.rekeyed = true;
        // Nothing was ever done under the old key, and nothing has been sent under the new one.
        progress.ambiguous = false;
        progress.key = progress.key && replacementKey(progress.key);
    }
    progress.retries += 1;
    this.#budget.take();
    const { waitMilliseconds, reason } = decision;
    await this.#pause({ waitMilliseconds, reason, attempt: progress.retries }, signal, details);
  }

  #emit(event: ClientEvent): void {
    this.#options.onEvent?.(event);
  }
}

/** What a request needs before it is sent. Its failure leaves a change open that an earlier attempt may have carried out. */
async function unlessLeftOpen<Value>(progress: Progress, signal: AbortSignal, ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof AopsError && !(error instanceof DeadlineError) && !signal.aborted ? unlessOpen(error, progress) : error;
  }
}

function detailsOf(request: ServiceRequest, progress: Progress, outcome?: Outcome): ErrorDetails {
  const requestId = outcome?.kind === 'response' ? header(outcome.response.headers, 'x-request-id') : undefined;
  return {
    method: request.method,
    path: request.path,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(progress.commandKey === undefined ? {} : { idempotency_key: progress.commandKey }),
  };
}
