/** The known state of a run that is being watched, from which follows what is new in a response or an event. */
import type { StreamEvent } from '../client/event-stream.ts';
import type { HumanRequest, Run, RunMessage } from '../interface/types.ts';
import type { RunEventBody } from './events.ts';
import { type RunPosition, runStart } from './resume/run-position.ts';
import { isFinal } from './run-status.ts';

/** In characters. */
const maxEventIdLength = 500;

export class RunState {
  status: string | null;
  request: RunPosition['request'];
  /** The offset of the next message, and the ID of the one before it. */
  offset: number;
  lastMessageId: string | undefined;
  /** When the run last received a message from a person. */
  #lastUserMessageAt: number;
  readonly #seenIds = new Set<string>();
  /** The last event of the event stream, and the number of messages in the stream so far. */
  #lastEventId: string | undefined;
  #streamedMessages: number;
  /** What the stream has reported, while polling may have reported something else since. */
  #streamedStatus: string | null;
  #streamedRequestId: string | undefined;
  /** The first messages of the stream, which were reported before this state begins. */
  readonly #omittedMessages: number;
  #isFinished = false;

  /** @param start what was reported earlier, and is not reported again */
  constructor(start: RunPosition = runStart) {
    this.status = start.status;
    this.request = start.request;
    this.offset = start.offset;
    this.lastMessageId = start.lastMessageId;
    if (start.lastMessageId !== undefined) this.#seenIds.add(start.lastMessageId);
    this.#lastUserMessageAt = start.lastUserMessageAt ?? Number.NEGATIVE_INFINITY;
    this.#lastEventId = start.stream?.eventId;
    this.#streamedMessages = start.stream?.messages ?? 0;
    this.#streamedStatus = start.status;
    this.#streamedRequestId = start.request?.id;
    this.#omittedMessages = start.offset;
  }

  /** What has been reported so far, to be taken right after each event: the next one changes it. */
  get position(): RunPosition {
    const eventId = this.#eventId;
    return {
      offset: this.offset,
      lastMessageId: this.lastMessageId,
      status: this.status,
      request: this.request && knownPart(this.request),
      lastUserMessageAt: Number.isFinite(this.#lastUserMessageAt) ? this.#lastUserMessageAt : undefined,
      isFinished: this.#isFinished,
      stream: eventId === undefined ? undefined : { eventId, messages: this.#streamedMessages },
    };
  }

  /**
   * Begins a stream. Returns the ID of the event after which it continues; undefined if it starts with the first event.
   * @param maxLength of the ID, in characters
   */
  beginStream(maxLength = maxEventIdLength): string | undefined {
    const eventId = this.#eventId;
    if (eventId !== undefined && eventId.length <= maxLength) return eventId;
    this.#lastEventId = undefined;
    this.#streamedMessages = 0;
    this.#streamedStatus = null;
    this.#streamedRequestId = undefined;
    return undefined;
  }

  /**
   * The event after which a stream can continue; undefined if polling has reported another status or request since: the service compares
   * the run with what the stream has reported, and would be silent about a run that is in that state again. A stream that has not reported
   * any status yet will do so.
   */
  get #eventId(): string | undefined {
    const isCurrent = this.status === this.#streamedStatus && this.request?.id === this.#streamedRequestId;
    return isCurrent || this.#streamedStatus === null ? this.#lastEventId : undefined;
  }

  /** Whether nothing has been read yet. */
  get isNew(): boolean {
    return this.status === null;
  }

  /** Whether a run's status or its request differs from the known state, or there was a reminder of the request. */
  differs(run: Run, request: HumanRequest | null): boolean {
    return run.status !== this.status || request?.id !== this.request?.id || (request !== null && this.#wasReminded(request));
  }

  /**
   * The event of a message, unless it is already known.
   * @param count the number of messages up to this one
   */
  *message(message: RunMessage, count: number): Generator<RunEventBody, void, undefined> {
    if (count > this.offset) {
      this.offset = count;
      this.lastMessageId = message.id;
    }
    if (this.#seenIds.has(message.id)) return;
    this.#seenIds.add(message.id);
    // Its next end is another one.
    this.#isFinished = false;
    if (message.role === 'user') this.#lastUserMessageAt = Date.parse(message.timestamp);
    yield { type: 'message', data: { message } };
  }

  /** The events of a run's changes, after all of its messages were processed. */
  *run(run: Run, request: HumanRequest | null): Generator<RunEventBody, void, undefined> {
    if (this.request?.id !== request?.id) yield* this.#resolvePrevious(run);
    yield* this.#statusChanged(run.status);
    if (request !== null) yield* this.#openRequest(request);
    if (isFinal(run.status)) yield this.#finished(run);
  }

  /** The events that follow from an event of the stream. @throws SyntaxError for anything that is not an event of a run */
  *event({ id, type, data }: StreamEvent): Generator<RunEventBody, void, undefined> {
    const body = JSON.parse(data) as never;
    // Tokens contain the ID. A stream with excessive IDs is read from its beginning when it is resumed.
    if (id !== '' && id.length <= maxEventIdLength) this.#lastEventId = id;
    switch (type) {
      case 'message': {
        const { message } = requireMember(body as { message: RunMessage }, 'message');
        this.#streamedMessages += 1;
        if (this.#streamedMessages <= this.#omittedMessages || this.#seenIds.has(message.id)) return;
        return yield* this.message(message, this.offset + 1);
      }
      case 'run.status': {
        const { status } = requireMember(body as { status: string }, 'status');
        this.#streamedStatus = status;
        // The stream does not report that a request was resolved which only polling has reported.
        if (status !== 'waiting') yield* this.#resolvePrevious({ status });
        return yield* this.#statusChanged(status);
      }
      case 'human_request.pending':
      case 'human_request.reminder': {
        const { human_request: request } = requireMember(body as { human_request: HumanRequest }, 'human_request');
        this.#streamedRequestId = request.id;
        if (request.id !== this.request?.id) yield* this.#resolvePrevious({ status: 'waiting' });
        return yield* this.#openRequest(request);
      }
      case 'human_request.resolved': {
        this.#streamedRequestId = undefined;
        const { human_request_id: id, resolution } = requireMember(
          body as { human_request_id: string; resolution: 'answered' | 'withdrawn' },
          'human_request_id',
        );
        return yield* this.#resolveRequest(id, resolution);
      }
      case 'run.finished':
        return yield this.#finished(requireMember(body as { run: Run }, 'run').run);
      default:
        // Later versions of the service may send more kinds of events.
        return;
    }
  }

  #finished(run: Run): RunEventBody {
    this.#isFinished = true;
    return { type: 'run.finished', data: { run } };
  }

  *#statusChanged(status: string): Generator<RunEventBody, void, undefined> {
    if (status === this.status) return;
    const { status: previous } = this;
    this.status = status;
    this.#isFinished = false;
    yield { type: 'run.status', data: { status, previous } };
  }

  *#openRequest(request: HumanRequest): Generator<RunEventBody, void, undefined> {
    const isKnown = request.id === this.request?.id;
    if (isKnown && !this.#wasReminded(request)) return;
    this.request = request;
    yield { type: isKnown ? 'human_request.reminder' : 'human_request.pending', data: { human_request: request } };
  }

  /** Whether the service has reminded of the known request since it was reported last. Other services might not have reminders. */
  #wasReminded({ reminded_at }: HumanRequest): boolean {
    const [time, knownTime] = [Date.parse(reminded_at ?? ''), Date.parse(this.request?.reminded_at ?? '')];
    return !Number.isNaN(time) && !(time <= knownTime);
  }

  /** The resolution of the known request, if there is one. @param run as it is afterwards */
  *#resolvePrevious(run: { status: string }): Generator<RunEventBody, void, undefined> {
    if (this.request !== null) yield* this.#resolveRequest(this.request.id, this.#resolution(this.request, run));
  }

  *#resolveRequest(id: string, resolution: 'answered' | 'withdrawn'): Generator<RunEventBody, void, undefined> {
    if (id !== this.request?.id) return;
    const { title } = this.request;
    this.request = null;
    yield { type: 'human_request.resolved', data: { human_request_id: id, title, resolution } };
  }

  /** A run that ended after a person's message was answered: it may have failed because of the answer, such as a denial. */
  #resolution(request: Pick<HumanRequest, 'created_at'>, { status }: { status: string }): 'answered' | 'withdrawn' {
    const isInterrupted = status === 'interrupted' || status === 'failed';
    return isInterrupted && !(this.#lastUserMessageAt >= Date.parse(request.created_at)) ? 'withdrawn' : 'answered';
  }
}

/** The part of a request that a position contains. */
const knownPart = ({ id, title, created_at, reminded_at }: NonNullable<RunPosition['request']>): RunPosition['request'] => ({
  ...{ id, title, created_at },
  ...(reminded_at != null && { reminded_at }),
});

/** The data of an event, which must have this member. */
function requireMember<Data extends object>(data: Data | null, member: keyof Data & string): Data {
  if (typeof data === 'object' && data !== null && data[member] != null) return data;
  throw new SyntaxError(`The event has no "${member}".`);
}
