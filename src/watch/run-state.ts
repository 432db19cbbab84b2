/** The known state of a run that is being watched, from which follows what is new in a response or an event. */
import type { StreamEvent } from '../client/event-stream.ts';
import type { HumanRequest, Run, RunMessage } from '../interface/types.ts';
import type { RunEventBody } from './events.ts';
import { isFinal } from './run-status.ts';

export class RunState {
  status: string | null = null;
  request: HumanRequest | null = null;
  /** The offset of the next message, and the ID of the one before it. */
  offset = 0;
  lastMessageId: string | undefined;
  /** When the run last received a message from a person. */
  #lastUserMessageAt = Number.NEGATIVE_INFINITY;
  readonly #seenIds = new Set<string>();

  /** Whether nothing has been read yet. */
  get isNew(): boolean {
    return this.status === null;
  }

  /** Whether a run's status or its request differs from the known state. */
  differs(run: Run, request: HumanRequest | null): boolean {
    return run.status !== this.status || request?.id !== this.request?.id;
  }

  /** The event of a message, unless it is already known. */
  *message(message: RunMessage): Generator<RunEventBody, void, undefined> {
    if (this.#seenIds.has(message.id)) return;
    this.#seenIds.add(message.id);
    if (message.role === 'user') this.#lastUserMessageAt = Date.parse(message.timestamp);
    yield { type: 'message', data: { message } };
  }

  /** The events of a run's changes, after all of its messages were processed. */
  *run(run: Run, request: HumanRequest | null): Generator<RunEventBody, void, undefined> {
    const { request: previous } = this;
    if (previous !== null && previous.id !== request?.id) yield* this.#resolveRequest(previous.id, this.#resolution(previous, run));
    yield* this.#statusChanged(run.status);
    if (request !== null) yield* this.#openRequest(request);
    if (isFinal(run.status)) yield { type: 'run.finished', data: { run } };
  }

  /** The events that follow from an event of the stream. @throws SyntaxError for anything that is not an event of a run */
  *event({ type, data }: StreamEvent): Generator<RunEventBody, void, undefined> {
    const body = JSON.parse(data) as never;
    switch (type) {
      case 'message': {
        const { message } = requireMember(body as { message: RunMessage }, 'message');
        for (const body of this.message(message)) {
          this.offset += 1;
          this.lastMessageId = message.id;
          yield body;
        }
        return;
      }
      case 'run.status':
        return yield* this.#statusChanged(requireMember(body as { status: string }, 'status').status);
      case 'human_request.pending':
        return yield* this.#openRequest(requireMember(body as { human_request: HumanRequest }, 'human_request').human_request);
      case 'human_request.resolved': {
        const { human_request_id: id, resolution } = requireMember(
          body as { human_request_id: string; resolution: 'answered' | 'withdrawn' },
          'human_request_id',
        );
        return yield* this.#resolveRequest(id, resolution);
      }
      case 'run.finished':
        return yield { type, data: { run: requireMember(body as { run: Run }, 'run').run } };
      default:
        // Later versions of the service may send more kinds of events.
        return;
    }
  }

  *#statusChanged(status: string): Generator<RunEventBody, void, undefined> {
    if (status === this.status) return;
    const { status: previous } = this;
    this.status = status;
    yield { type: 'run.status', data: { status, previous } };
  }

  *#openRequest(request: HumanRequest): Generator<RunEventBody, void, undefined> {
    if (request.id === this.request?.id) return;
    this.request = request;
    yield { type: 'human_request.pending', data: { human_request: request } };
  }

  *#resolveRequest(id: string, resolution: 'answered' | 'withdrawn'): Generator<RunEventBody, void, undefined> {
    if (id !== this.request?.id) return;
    const { title } = this.request;
    this.request = null;
    yield { type: 'human_request.resolved', data: { human_request_id: id, title, resolution } };
  }

  /** A run that ended after a person's message was answered: it may have failed because of the answer, such as a denial. */
  #resolution(request: HumanRequest, { status }: Run): 'answered' | 'withdrawn' {
    const isInterrupted = status === 'interrupted' || status === 'failed';
    return isInterrupted && !(this.#lastUserMessageAt >= Date.parse(request.created_at)) ? 'withdrawn' : 'answered';
  }
}

/** The data of an event, which must have this member. */
function requireMember<Data extends object>(data: Data | null, member: keyof Data & string): Data {
  if (typeof data === 'object' && data !== null && data[member] != null) return data;
  throw new SyntaxError(`The event has no "${member}".`);
}
