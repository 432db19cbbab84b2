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
    this.#omittedMessages = start.offset;
  }

  /** What has been reported so far, to be taken right after each event: the next one changes it. */
  get position(): RunPosition {
    return {
      offset: this.offset,
      lastMessageId: this.lastMessageId,
      status: this.status,
      request: this.request && knownPart(this.request),
      lastUserMessageAt: Number.isFinite(this.#lastUserMessageAt) ? this.#lastUserMessageAt : undefined,
      isFinished: this.#isFinished,
      stream: this.#lastEventId === undefined ? undefined : { eventId: this.#lastEventId, messages: this.#streamedMessages },
    };
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
    const { request: previous } = this;
    if (previous !== null && previous.id !== request?.id) yield* this.#resolveRequest(previous.id, this.#resolution(previous, run));
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
      case 'run.status':
        return yield* this.#statusChanged(requireMember(body as { status: string }, 'status').status);
      case 'human_request.pending':
      case 'human_request.reminder':
        return yield* this.#openRequest(requireMember(body as { human_request: HumanRequest }, 'human_request').human_request);
      case 'human_request.resolved': {
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

  *#resolveRequest(id: string, resolution: 'answered' | 'withdrawn'): Generator<RunEventBody, void, undefined> {
    if (id !== this.request?.id) return;
    const { title } = this.request;
    this.request = null;
    yield { type: 'human_request.resolved', data: { human_request_id: id, title, resolution } };
  }

  /** A run that ended after a person's message was answered: it may have failed because of the answer, such as a denial. */
  #resolution(request: Pick<HumanRequest, 'created_at'>, { status }: Run): 'answered' | 'withdrawn' {
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
