/** What is known of a run that is followed, and so what of an answer or an event is new. */
import type { StreamEvent } from '../client/event-stream.ts';
import type { HumanRequest, Run, RunMessage } from '../interface/types.ts';
import type { RunEventBody } from './events.ts';
import { isFinal } from './run-status.ts';

export class RunState {
  status: string | null = null;
  request: HumanRequest | null = null;
  /** Where the next message is expected, and the id of the one before it. */
  offset = 0;
  last: string | undefined;
  /** When a person last said something to the run. */
  #spoken = Number.NEGATIVE_INFINITY;
  readonly #seen = new Set<string>();

  /** Whether nothing was read yet. */
  get isNew(): boolean {
    return this.status === null;
  }

  /** Whether a run or its request is other than what is known. */
  differs(run: Run, request: HumanRequest | null): boolean {
    return run.status !== this.status || request?.id !== this.request?.id;
  }

  /** A message, unless it is known. */
  *message(message: RunMessage): Generator<RunEventBody, void, undefined> {
    if (this.#seen.has(message.id)) return;
    this.#seen.add(message.id);
    if (message.role === 'user') this.#spoken = Date.parse(message.timestamp);
    yield { type: 'message', data: { message } };
  }

  /** What is new of a run, after all of its messages were taken. */
  *run(run: Run, request: HumanRequest | null): Generator<RunEventBody, void, undefined> {
    const { request: previous } = this;
    if (previous !== null && previous.id !== request?.id) yield* this.#resolved(previous.id, this.#resolution(previous, run));
    yield* this.#moved(run.status);
    if (request !== null) yield* this.#pending(request);
    if (isFinal(run.status)) yield { type: 'run.finished', data: { run } };
  }

  /** What is new of an event of the stream. @throws SyntaxError for what is not an event of a run */
  *event({ type, data }: StreamEvent): Generator<RunEventBody, void, undefined> {
    const body = JSON.parse(data) as never;
    switch (type) {
      case 'message': {
        const { message } = wanted(body as { message: RunMessage }, 'message');
        for (const told of this.message(message)) {
          this.offset += 1;
          this.last = message.id;
          yield told;
        }
        return;
      }
      case 'run.status':
        return yield* this.#moved(wanted(body as { status: string }, 'status').status);
      case 'human_request.pending':
        return yield* this.#pending(wanted(body as { human_request: HumanRequest }, 'human_request').human_request);
      case 'human_request.resolved': {
        const { human_request_id: id, resolution } = wanted(
          body as { human_request_id: string; resolution: 'answered' | 'withdrawn' },
          'human_request_id',
        );
        return yield* this.#resolved(id, resolution);
      }
      case 'run.finished':
        return yield { type, data: { run: wanted(body as { run: Run }, 'run').run } };
      default:
        // Later services may tell of more.
        return;
    }
  }

  *#moved(status: string): Generator<RunEventBody, void, undefined> {
    if (status === this.status) return;
    const { status: previous } = this;
    this.status = status;
    yield { type: 'run.status', data: { status, previous } };
  }

  *#pending(request: HumanRequest): Generator<RunEventBody, void, undefined> {
    if (request.id === this.request?.id) return;
    this.request = request;
    yield { type: 'human_request.pending', data: { human_request: request } };
  }

  *#resolved(id: string, resolution: 'answered' | 'withdrawn'): Generator<RunEventBody, void, undefined> {
    if (id !== this.request?.id) return;
    const { title } = this.request;
    this.request = null;
    yield { type: 'human_request.resolved', data: { human_request_id: id, title, resolution } };
  }

  /** A run may fail because of the answer to its request, such as a denial. */
  #resolution(request: HumanRequest, { status }: Run): 'answered' | 'withdrawn' {
    const ended = status === 'interrupted' || status === 'failed';
    return ended && !(this.#spoken >= Date.parse(request.created_at)) ? 'withdrawn' : 'answered';
  }
}

/** The data of an event, which must have a member. */
function wanted<Data extends object>(data: Data | null, member: keyof Data & string): Data {
  if (typeof data === 'object' && data !== null && data[member] != null) return data;
  throw new SyntaxError(`The event lacks "${member}".`);
}
