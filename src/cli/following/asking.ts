/** The answering of what is asked while a stream goes on: one request at a time, beside it. A failure ends the stream. */
import { AopsError } from '../../base/errors.ts';
import type { HumanRequest } from '../../interface/types.ts';
import type { Pace } from '../../watch/pace.ts';
import { LeftPending, type Requester, type ResponderOptions, respond, Withdrawn } from './responder.ts';

/** What shows the stream. */
export interface HeldSink {
  /** Holds events back while a prompt is on the screen. */
  hold(): void;
  /** Shows what came meanwhile. An answer given at the prompt stands on the screen already and is not shown again. */
  resume(answeredHere: boolean): Promise<void>;
}

interface Parts {
  sink: HeldSink;
  /** Ends the stream, with the reason as its error. */
  stop: AbortController;
  pace: Pace;
}

export class Asking {
  readonly #options: ResponderOptions;
  readonly #requester: Requester;
  readonly #parts: Parts;
  #withdraw = new AbortController();
  #current: Promise<void> = Promise.resolve();
  #open = false;
  #busy = false;

  constructor(options: ResponderOptions, requester: Requester, parts: Parts) {
    this.#options = options;
    this.#requester = requester;
    this.#parts = parts;
  }

  /** Whether a request is pending. */
  get open(): boolean {
    return this.#open;
  }

  /** Whether a person is at a prompt here, or their answer is on its way. */
  readonly busy = (): boolean => this.#busy;

  /** Something is asked: it is answered beside the stream. */
  pending(request: HumanRequest): void {
    this.#open = true;
    this.#current = this.#answer(request);
  }

  /** What was asked is not asked any more. */
  async resolved(answered: boolean): Promise<void> {
    this.#open = false;
    await this.#end(answered ? new Withdrawn('Somebody else answered.') : undefined);
  }

  /** Withdraws an open prompt and waits until it has left the screen. */
  end(): Promise<void> {
    return this.#end(undefined);
  }

  async #end(reason: Withdrawn | undefined): Promise<void> {
    this.#withdraw.abort(reason);
    await this.#current;
  }

  async #answer(request: HumanRequest): Promise<void> {
    const { sink, stop, pace } = this.#parts;
    const prompts = this.#options.onRequest === 'prompt';
    this.#withdraw = new AbortController();
    this.#busy = prompts;
    if (prompts) sink.hold();
    let answeredHere = false;
    try {
      answeredHere = await respond(this.#options, this.#requester, request, this.#withdraw.signal);
    } catch (error) {
      stop.abort(error instanceof LeftPending ? leftPending(request, this.#requester.waiting(request)) : error);
    }
    if (answeredHere) this.#open = false;
    this.#busy = false;
    if (prompts) await sink.resume(answeredHere);
    pace.hurry();
  }
}

/** What ends the stream when the person leaves a request pending: the same as where nobody may be asked, but their own choice. */
const leftPending = ({ title }: HumanRequest, { code, exit, hint, details }: AopsError): AopsError =>
  new AopsError(`Left pending: ${title}`, { code, exit, details, chosen: true, ...(hint === undefined ? {} : { hint }) });
