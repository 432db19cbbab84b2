/**
 * The HTTP client: one loop through which every request passes. It uses one idempotency key for all attempts at a change,
 * waits for rate limits, and retries as the policy allows, within the caller's deadline. It does not use the terminal:
 * events that the user should see go to `onEvent`.
 */
import { anySignal, sharedSignal } from '../base/abort.ts';
import { backoff } from '../base/backoff.ts';
import { type Clock, steadyTime, systemClock } from '../base/clock.ts';
import { AopsError, type ErrorDetails } from '../base/errors.ts';
import type { Dispatcher } from '../base/undici.ts';
import type { Input, JsonOperationId, Response, StreamOperationId } from '../interface/types.ts';
import { Answers } from './answers.ts';
import { abandonedChange, DeadlineError, OutcomeUnknownError, RateLimitedError, toNotOfferedError } from './errors.ts';
import { EventConnector, type OpenEventsOptions } from './event-connector.ts';
import type { EventReader } from './event-reader.ts';
import { ChangeKeys, checkedIdempotencyKey, newIdempotencyKey, replacementKey } from './idempotency.ts';
import { Pacer } from './limits/pacing.ts';
import { type Allowance, RateGate } from './limits/rate-gate.ts';
import { type ResponseHeaders, retryAfter, serverTime, spread } from './limits/rate-limit.ts';
import { openDispatcher } from './network/network.ts';
import type { CallOptions, ClientEvent, ClientOptions } from './options.ts';
import { type Decision, decide, detailsOf, leavesOpen, orOutcomeUnknown, type Progress } from './policy.ts';
import { operationRequest, type ServiceRequest } from './request.ts';
import { isReplayed, readJson, readMedia } from './response.ts';
import { RetryBudget } from './retry-budget.ts';
import { retryPolicy } from './retry-policy.ts';
import { SendAttempt } from './send-attempt.ts';
import { timeLimited } from './time-limit.ts';
import { attempt, type Outcome, type TransportResponse } from './transport.ts';

export type { CallOptions, ClientEvent, ClientOptions } from './options.ts';

export class Client {
  readonly baseUrl: string;
  readonly answers = new Answers();
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
  readonly #events: EventConnector;
  readonly #waitListeners = new Set<(milliseconds: number) => void>();
  #dispatcher: Promise<Dispatcher> | undefined;
  readonly #closeController = new AbortController();
  /** Aborted when the client is closed, or by its caller. */
  readonly #signal: AbortSignal;

  /** @throws UsageError for an idempotency key that cannot be sent */
  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl;
    const { origin, pathname } = new URL(options.baseUrl);
    this.#base = { origin, prefix: pathname.replace(/\/$/, '') };
    this.#options = options;
    this.#signal =
      options.signal === undefined
        ? sharedSignal(this.#closeController.signal)
        : sharedSignal(options.signal, this.#closeController.signal);
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
    this.#events = new EventConnector({
      base: this.#base,
      clock: this.#clock,
      gate: this.#gate,
      pacer: this.#pacer,
      credential: options.credential,
      userAgent: options.userAgent,
      signal: this.#signal,
      openDispatcher: (connections) => openDispatcher(options.network, connections),
      emit: (event) => this.#emit(event),
    });
    if (options.idempotencyKey !== undefined) this.#keys = new ChangeKeys(checkedIdempotencyKey(options.idempotencyKey));
  }

  /**
   * Calls an operation of the contract.
   * @throws ServiceAnswerError for an error status, NotOfferedError, OutcomeUnknownError, UnavailableError, RateLimitedError, UnusableAnswerError,
   *   or the signal's reason, which names the key if a change may have been carried out
   */
  async call<Id extends JsonOperationId>(id: Id, input: Input<Id>, options: CallOptions = {}): Promise<Response<Id>> {
    const { attemptMilliseconds } = options;
    const request = { ...operationRequest(id, input), ...(attemptMilliseconds === undefined ? {} : { attemptMilliseconds }) };
    const response = await this.send(request, options).catch((error: unknown) => {
      throw toNotOfferedError(id, error);
    });
    return this.answers.check(id, readJson(response), { status: response.status, method: request.method, path: request.path });
  }

  /** Reserves the keys of the next change of a target: concurrent changes reserve them in a fixed order before they start. */
  reserveKeys(method: string, path: string): { key: string; commandKey: string } {
    this.#keys ??= new ChangeKeys(newIdempotencyKey());
    return { key: this.#keys.next(method, path), commandKey: this.#keys.command };
  }

  /** Reserves the keys of a change that may be sent several times until it is answered, so that it is carried out once. */
  keysFor<Id extends JsonOperationId>(id: Id, input: Input<Id>): { key: string; commandKey: string } {
    const { method, path } = operationRequest(id, input);
    return this.reserveKeys(method, path);
  }

  /** Sends a request, of the contract or not. The response has a success status and, unless it is a 204, a JSON body. */
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
      noted: false,
      resent: false,
    };
    const signal = anySignal([this.#signal, options.signal]);
    const { key } = progress;
    progress.noted = !options.confidential && (await this.#noteChange(request, progress));
    // Also if it could not be noted: an earlier command may have noted a change with the same key.
    const settleChange = async (): Promise<void> => {
      if (key !== undefined) await this.#options.journal?.settle(key, this.baseUrl);
    };
    try {
      const response = await this.#perform(request, progress, signal, options.once === true);
      await settleChange();
      const isReplay = this.#options.idempotencyKey !== undefined && progress.retries === 0 && isReplayed(response);
      if (isReplay) this.#emit({ type: 'replayed', method: request.method, path: request.path });
      return response;
    } catch (error) {
      const isOutOfTime = error === signal.reason || error instanceof DeadlineError;
      if (isOutOfTime && progress.ambiguous) throw abandonedChange(error, detailsOf(request, progress), progress.noted);
      if (!(error instanceof OutcomeUnknownError)) await settleChange();
      throw error;
    }
  }

  /** Notes a change in the journal until its outcome is known. Resolves to whether that was possible. */
  async #noteChange(request: ServiceRequest, { key, commandKey }: Progress): Promise<boolean> {
    const { journal } = this.#options;
    return (
      journal !== undefined && key !== undefined && commandKey !== undefined && journal.open(request, { key, commandKey }, this.baseUrl)
    );
  }

  /** Makes attempts until the policy decides that the request is done or has failed. */
  async #perform(request: ServiceRequest, progress: Progress, signal: AbortSignal, once: boolean): Promise<TransportResponse> {
    for (;;) {
      await orOutcomeUnknownOnFailure(progress, signal, () => this.#pacer.enter(signal, detailsOf(request, progress)));
      const { outcome, authorization } = await this.#sendOnce(request, progress, signal).finally(() => this.#gate.leave());
      const decision = decide(outcome, {
        progress,
        baseUrl: this.baseUrl,
        details: detailsOf(request, progress, outcome),
        rejectedHint: this.#options.rejectedHint,
        maxWaitMilliseconds: this.#maxWait,
        now: this.#gate.server.now(),
        canAfford: this.#budget.canAfford,
        once: once || this.#budget.neverRetries,
        random: this.#random,
      });
      progress.ambiguous ||= leavesOpen(outcome);
      if (decision.next === 'done') {
        this.#budget.recordSuccess(progress.retries > 0);
        return decision.response;
      }
      await this.#prepareNextAttempt(decision, request, progress, { authorization, signal });
    }
  }

  /** One attempt with the current authorization. After an abort the outcome of a change is unknown once its head was being sent. */
  async #sendOnce(request: ServiceRequest, progress: Progress, signal: AbortSignal): Promise<{ outcome: Outcome; authorization: string }> {
    const authorization = await orOutcomeUnknownOnFailure(progress, signal, () => this.#options.credential.authorization(signal));
    const { key } = progress;
    if (key === undefined) return { outcome: await this.#attempt(request, { ...request.headers, authorization }, signal), authorization };
    const attempt = new SendAttempt(key);
    try {
      const outcome = await this.#attempt(request, { ...request.headers, authorization, 'idempotency-key': key }, signal);
      if (outcome.kind === 'response') return { outcome, authorization };
      return { outcome: { ...outcome, maybeSent: outcome.maybeSent && attempt.hasBegun, stale: attempt.isStale }, authorization };
    } catch (reason) {
      progress.ambiguous ||= attempt.hasBegun;
      throw reason;
    } finally {
      attempt.end();
    }
  }

  /**
   * Opens an event stream that continues after the event with the given ID. It is tried once.
   * @throws NoStreamError when there is no stream, the connection's failure, RateLimitedError, or the signal's reason
   */
  openEvents<Id extends StreamOperationId>(id: Id, input: Input<Id>, options: OpenEventsOptions): Promise<EventReader> {
    return this.#events.open(id, operationRequest(id, input), options);
  }

  /** The remaining allowance of the credential's rate limit; undefined when the service does not report it. */
  get allowance(): Allowance | undefined {
    return this.#gate.allowance;
  }

  /** Calls `listener` with each wait for the rate limit, in milliseconds, until the returned function is called. */
  onWaiting(listener: (milliseconds: number) => void): () => void {
    this.#waitListeners.add(listener);
    return () => this.#waitListeners.delete(listener);
  }

  /**
   * Ends all connections and requests in progress: after one of several concurrent requests has failed, the others would otherwise be
   * retried, and the process would wait for them. The client cannot be used afterwards.
   */
  async close(): Promise<void> {
    this.#closeController.abort(new Error('The client was closed.'));
    // A failure to open the dispatcher was reported by the request that needed it.
    await (await this.#dispatcher?.catch(() => undefined))?.destroy();
    await this.#events.close();
  }

  /** The dispatcher, also for file transfers, which do not pass through the loop. `close` ends them all. */
  dispatcher(): Promise<Dispatcher> {
    this.#dispatcher ??= openDispatcher(this.#options.network);
    return this.#dispatcher;
  }

  /**
   * Waits before retry `retry` (0 for the first) of a file transfer and reports why; at least as long as the response requests.
   * @throws the failure itself when the retry budget is used up; RateLimitedError when the wait is longer than the user allows
   */
  async backOff(retry: number, failure: Error, signal: AbortSignal, headers: ResponseHeaders = {}): Promise<void> {
    if (!this.#budget.canAfford) throw failure;
    const requestedPause = retryAfter(headers, serverTime(headers, this.#clock.now())) ?? 0;
    if (requestedPause > this.#maxWait) throw new RateLimitedError(requestedPause, this.#maxWait, {});
    const waitMilliseconds = Math.max(spread(requestedPause, this.#random), backoff(retry, this.#random));
    this.#budget.spend();
    await this.#pause(
      { waitMilliseconds, reason: failure.message.replace(/\.$/, ''), attempt: retry + 1 },
      anySignal([this.#closeController.signal, signal]),
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
    // Without `accept-encoding` a service may compress the response (RFC 9110, 12.5.3).
    const defaultHeaders = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': this.#options.userAgent };
    const requestHeaders = { ...defaultHeaders, ...headers };
    const dispatcher = await this.dispatcher();
    const startedAt = steadyTime(this.#clock);
    const run = (limit: AbortSignal): Promise<Outcome> =>
      attempt(dispatcher, {
        origin,
        path,
        method: request.method,
        headers: requestHeaders,
        signal: limit,
        onHead: (responseHeaders) => this.#gate.observe(responseHeaders, startedAt, steadyTime(this.#clock)),
        onMessage: request.onMessage,
        media: request.media,
        ...(request.body === undefined ? {} : { body: request.body }),
      });
    const outcome = await timeLimited(this.#clock, signal, run, request.attemptMilliseconds);
    const milliseconds = Math.round(steadyTime(this.#clock) - startedAt);
    const tracedHeaders = { ...requestHeaders, authorization: `${headers.authorization?.split(' ', 1)[0]} ***` };
    const trace = { type: 'trace', method: request.method, url: origin + path, requestHeaders: tracedHeaders, milliseconds } as const;
    if (outcome.kind === 'failure') {
      this.#emit({ ...trace, reason: outcome.reason });
      return outcome;
    }
    this.#emit({ ...trace, status: outcome.response.status, responseHeaders: outcome.response.headers });
    if (request.media) outcome.response.reading = readMedia(outcome.response, request.media.type);
    if (request.statusOnly) outcome.response.reading = { value: undefined };
    return outcome;
  }

  /** Does what the decision requires before the next attempt, or throws its error. */
  async #prepareNextAttempt(
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
        if (await orOutcomeUnknownOnFailure(progress, signal, async () => this.#options.credential.refresh?.(authorization, signal)))
          return;
        throw decision.error;
      case 'resend':
        progress.resent = true;
        return this.#pause({ waitMilliseconds: 0, reason: decision.reason, attempt: progress.retries + 1 }, signal, details);
      case 'wait':
        // The gate holds this request and all others.
        this.#gate.close(decision.waitMilliseconds);
        progress.retries += 1;
        return this.#budget.spend();
      case 'rekey':
        progress.rekeyed = true;
        // Nothing was ever carried out under the old key, and nothing has been sent under the new one.
        progress.ambiguous = false;
        progress.key = progress.key && replacementKey(progress.key);
    }
    progress.retries += 1;
    this.#budget.spend();
    const { waitMilliseconds, reason } = decision;
    await this.#pause({ waitMilliseconds, reason, attempt: progress.retries }, signal, details);
  }

  #emit(event: ClientEvent): void {
    this.#options.onEvent?.(event);
  }
}

/** Runs a step before an attempt. If it fails, a change that an earlier attempt may have carried out has an unknown outcome. */
async function orOutcomeUnknownOnFailure<Value>(progress: Progress, signal: AbortSignal, ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof AopsError && !(error instanceof DeadlineError) && !signal.aborted ? orOutcomeUnknown(error, progress) : error;
  }
}
