/** Answers requests while a stream of events is shown, one at a time and concurrently with the stream. A failure ends the stream. */
import { AopsError } from '../../base/errors.ts';
import type { HumanRequest } from '../../interface/types.ts';
import type { Pace } from '../../watch/pace.ts';
import { LeftPendingError, type Requester, RequestWithdrawn, type ResponderOptions, respond } from './responder.ts';

/** The output of the stream. */
export interface HeldSink {
  /** Holds events back while a prompt is on the screen. */
  hold(): void;
  /** Shows the events held back. An answer given at the prompt is already on the screen and is not shown again. */
  resume(answeredHere: boolean): Promise<void>;
}

interface Parts {
  sink: HeldSink;
  /** Ends the stream, with the reason as its error. */
  streamController: AbortController;
  pace: Pace;
}

export class RequestAnswerer {
  readonly #options: ResponderOptions;
  readonly #requester: Requester;
  readonly #parts: Parts;
  #withdraw = new AbortController();
  #currentAnswer: Promise<void> = Promise.resolve();
  #isOpen = false;
  #isBusy = false;

  constructor(options: ResponderOptions, requester: Requester, parts: Parts) {
    this.#options = options;
    this.#requester = requester;
    this.#parts = parts;
  }

  /** Whether a request is pending. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether a prompt is open here, or its answer is being sent. */
  readonly isBusy = (): boolean => this.#isBusy;

  /** Starts to answer a pending request, concurrently with the stream. */
  startAnswer(request: HumanRequest): void {
    this.#isOpen = true;
    this.#currentAnswer = this.#answer(request);
  }

  /** Call this when the request is no longer pending. */
  async endAnswer(isAnswered: boolean): Promise<void> {
    this.#isOpen = false;
    await this.#end(isAnswered ? new RequestWithdrawn('Somebody else answered.') : undefined);
  }

  /** Withdraws an open prompt and waits until it has disappeared from the screen. */
  end(): Promise<void> {
    return this.#end(undefined);
  }

  async #end(reason: RequestWithdrawn | undefined): Promise<void> {
    this.#withdraw.abort(reason);
    await this.#currentAnswer;
  }

  async #answer(request: HumanRequest): Promise<void> {
    const { sink, streamController, pace } = this.#parts;
    const prompts = this.#options.onRequest === 'prompt';
    this.#withdraw = new AbortController();
    this.#isBusy = prompts;
    if (prompts) sink.hold();
    let answeredHere = false;
    try {
      answeredHere = await respond(this.#options, this.#requester, request, this.#withdraw.signal);
    } catch (error) {
      streamController.abort(error instanceof LeftPendingError ? leftPendingError(request, this.#requester.waitingError(request)) : error);
    }
    if (answeredHere) this.#isOpen = false;
    this.#isBusy = false;
    if (prompts) await sink.resume(answeredHere);
    pace.hurry();
  }
}

/** Ends the stream when the person leaves a request pending: the same error as without prompts, but marked as the person's choice. */
const leftPendingError = ({ title }: HumanRequest, { code, exit, hint, details }: AopsError): AopsError =>
  new AopsError(`Left pending: ${title}`, { code, exit, hint, details, isIntended: true });
