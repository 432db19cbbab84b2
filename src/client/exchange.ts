/**
 * One request and its whole answer, collected as it comes. undici's own `request` makes a stream of every body, which
 * costs more than all else that is done for an answer that fits in a packet or two.
 */

import type { Dispatcher } from '../base/undici.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { header, type ResponseHeaders } from './limits/rate-limit.ts';

/** The whole of an answer. */
export interface Answer {
  status: number;
  headers: ResponseHeaders;
  body: Buffer;
  /** The answer came as a stream of events, and the body is the one that was waited for; empty when it never came. */
  streamed?: true;
  /** The body went where it was wanted, and is not here. */
  taken?: true;
}

/** Takes a body that is no JSON as it comes, in place of collecting it. */
export interface MediaSink {
  /** The media type that it is for; an answer of another is collected like any other. */
  type: string;
  /** The body of an attempt begins. */
  begin(): void;
  /** More of it. Nothing further is read before it resolves. */
  take(chunk: Uint8Array): Promise<void>;
}

/** What may be told of an answer while it comes. */
export interface Listener {
  /** Told as soon as the head of the answer is there. */
  onHead?: ((headers: ResponseHeaders) => void) | undefined;
  /** Takes the messages of an answer that is a stream of events. True for the one that is the answer: the rest is not waited for. */
  onMessage?: ((data: string) => boolean) | undefined;
  media?: MediaSink | undefined;
}

/** JSON answers are held in memory; more than this is no JSON answer. */
const bodyLimit = 32 * 1024 * 1024;
/** Of an error's body the start will do; its status counts. */
const errorBodyLimit = 1024 * 1024;

/**
 * Sends a request and resolves when its answer is complete. undici notices an abort only once it is connected; this ends at once.
 * @throws the signal's reason, what undici says of the connection, or `ERR_BODY_LIMIT`
 */
export async function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  signal: AbortSignal,
  listener: Listener = {},
): Promise<Answer> {
  signal.throwIfAborted();
  const collector = new Collector(listener);
  const onAbort = (): void => collector.giveUp(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    dispatcher.dispatch(request, collector);
    return await collector.answer;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Takes in an answer, as undici hands it over. It is settled once: what comes after that changes nothing. */
class Collector implements Dispatcher.DispatchHandler {
  readonly answer: Promise<Answer>;
  readonly #listener: Listener;
  #events: EventStreamParser | undefined;
  readonly #chunks: Buffer[] = [];
  #resolve: (answer: Answer) => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #abandoned: { reason: unknown } | undefined;
  #status = 0;
  #headers: ResponseHeaders = {};
  #size = 0;
  #answered = false;
  #media: MediaSink | undefined;
  /** What is still being written of the body. */
  #taking: Promise<void> = Promise.resolve();

  constructor(listener: Listener) {
    this.#listener = listener;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Ends the exchange, wherever it is: also while there is no connection yet. */
  giveUp(reason: unknown): void {
    this.#reject(reason);
    this.#abandoned = { reason };
    this.#controller?.abort(reason as Error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abandoned) controller.abort(this.#abandoned.reason as Error);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // One that only says that the answer is coming.
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    this.#listener.onHead?.(headers);
    const isStream = /^text\/event-stream\s*(;|$)/i.test(header(headers, 'content-type') ?? '');
    if (isStream && !this.#isError && this.#listener.onMessage) this.#events = new EventStreamParser(bodyLimit);
    const { media } = this.#listener;
    if (media && !this.#isError && status < 300 && isOfType(headers, media.type)) {
      this.#media = media;
      media.begin();
      return;
    }
    if (!this.#isError && Number(header(headers, 'content-length')) > bodyLimit) this.giveUp(tooLarge());
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#media) this.#pass(this.#media, controller, chunk);
    // A stream mostly ends with its answer, and its connection can be used again; not when it goes on.
    else if (this.#answered) this.giveUp(new Error('the answer is there'));
    else if (this.#events) this.#read(() => this.#events?.push(chunk));
    else this.#collect(chunk);
  }

  /** Hands a piece on, and reads no further until it was taken. */
  #pass(media: MediaSink, controller: Dispatcher.DispatchController, chunk: Buffer): void {
    controller.pause();
    this.#taking = media.take(chunk);
    this.#taking.then(
      // Never before undici's parser has taken note of the pause: it would spin, and hand on empty pieces for ever.
      () => void setImmediate(() => controller.resume()),
      (error: unknown) => this.giveUp(error),
    );
  }

  #collect(chunk: Buffer): void {
    this.#size += chunk.length;
    this.#chunks.push(chunk);
    if (this.#size <= (this.#isError ? errorBodyLimit : bodyLimit)) return;
    if (this.#isError) this.#complete();
    this.giveUp(tooLarge());
  }

  onResponseEnd(): void {
    if (this.#events && !this.#answered) this.#read(() => this.#events?.end());
    // What was handed on last may still be on its way.
    if (this.#media) void this.#taking.then(() => this.#complete()).catch(() => undefined);
    else this.#complete();
  }

  #read(next: () => StreamEvent[] | undefined): void {
    try {
      for (const { type, data } of next() ?? []) {
        if (type !== 'message' || !this.#listener.onMessage?.(data)) continue;
        this.#chunks.push(Buffer.from(data));
        this.#complete();
        return;
      }
    } catch (error) {
      this.giveUp(error);
    }
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#reject(error);
  }

  get #isError(): boolean {
    return this.#status >= 400;
  }

  #complete(): void {
    this.#answered = true;
    const [first = Buffer.alloc(0)] = this.#chunks;
    const body = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first;
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: withoutMark(body),
      ...(this.#events ? { streamed: true } : {}),
      ...(this.#media ? { taken: true } : {}),
    });
  }
}

const isOfType = (headers: ResponseHeaders, type: string): boolean =>
  (header(headers, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() === type;

/** Some writers of UTF-8 begin with a byte order mark, which is no part of the text (RFC 8259, 8.1). */
const withoutMark = (body: Buffer): Buffer => (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body);

const tooLarge = (): Error =>
  Object.assign(new Error(`the answer is larger than ${bodyLimit / 1_048_576} MiB`), { code: 'ERR_BODY_LIMIT' });
