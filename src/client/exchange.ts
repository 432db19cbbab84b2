/**
 * One request and its complete response, collected as it arrives. undici's own `request` creates a stream for every body,
 * which costs more than everything else that is done for a response of one or two packets.
 */
import type { Dispatcher } from '../base/undici.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { header, type ResponseHeaders } from './limits/rate-limit.ts';

/** A complete response. */
export interface Answer {
  status: number;
  headers: ResponseHeaders;
  body: Buffer;
  /** The response was an event stream, and the body is the expected message; empty when it never came. */
  streamed?: true;
  /** The body went to the media sink and is not included. */
  wasStreamed?: true;
}

/** Receives a body that is not JSON as it arrives, instead of collecting it. */
export interface MediaSink {
  /** The expected media type; a response of another type is collected as usual. */
  type: string;
  /** The body of an attempt starts. */
  begin(): void;
  /** The next chunk of the body. Nothing more is read until the promise resolves. */
  write(chunk: Uint8Array): Promise<void>;
}

/** Callbacks for a response while it arrives. */
export interface Listener {
  /** Called as soon as the head of the response has arrived. */
  onHead?: ((headers: ResponseHeaders) => void) | undefined;
  /** Receives the messages of a response that is an event stream. Returns true for the final one: the rest is not waited for. */
  onMessage?: ((data: string) => boolean) | undefined;
  media?: MediaSink | undefined;
}

/** JSON responses are held in memory; none is larger than this. */
const bodyLimit = 32 * 1024 * 1024;
/** Of an error's body the beginning is enough; its status is what matters. */
const errorBodyLimit = 1024 * 1024;

/**
 * Sends a request and resolves when its response is complete. undici notices an abort only once it is connected; this ends immediately.
 * @throws the signal's reason, undici's connection error, or `ERR_BODY_LIMIT`
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

/** Collects a response from undici's callbacks. It is settled once: later calls have no effect. */
class Collector implements Dispatcher.DispatchHandler {
  readonly answer: Promise<Answer>;
  readonly #listener: Listener;
  #events: EventStreamParser | undefined;
  readonly #chunks: Buffer[] = [];
  #resolve: (answer: Answer) => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #abandonment: { reason: unknown } | undefined;
  #status = 0;
  #headers: ResponseHeaders = {};
  #size = 0;
  #isAnswered = false;
  #media: MediaSink | undefined;
  /** The part of the body that is still being written. */
  #pendingWrite: Promise<void> = Promise.resolve();

  constructor(listener: Listener) {
    this.#listener = listener;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Ends the exchange in any state, even before there is a connection. */
  giveUp(reason: unknown): void {
    this.#reject(reason);
    this.#abandonment = { reason };
    this.#controller?.abort(reason as Error);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abandonment) controller.abort(this.#abandonment.reason as Error);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    // Informational responses only announce the final one.
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
    if (this.#media) this.#write(this.#media, controller, chunk);
    // Most streams end with the expected message, so their connections can be reused; one that continues is closed.
    else if (this.#isAnswered) this.giveUp(new Error('the answer has arrived'));
    else if (this.#events) this.#readEvents(() => this.#events?.push(chunk));
    else this.#collect(chunk);
  }

  /** Passes on a chunk and pauses reading until it was taken. */
  #write(media: MediaSink, controller: Dispatcher.DispatchController, chunk: Buffer): void {
    controller.pause();
    this.#pendingWrite = media.write(chunk);
    this.#pendingWrite.then(
      // Not before undici's parser has noticed the pause: it would spin and pass on empty chunks forever.
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
    if (this.#events && !this.#isAnswered) this.#readEvents(() => this.#events?.end());
    // The last chunk may not have been taken yet.
    if (this.#media) void this.#pendingWrite.then(() => this.#complete()).catch(() => undefined);
    else this.#complete();
  }

  #readEvents(readNext: () => StreamEvent[] | undefined): void {
    try {
      for (const { type, data } of readNext() ?? []) {
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
    this.#isAnswered = true;
    const [firstChunk = Buffer.alloc(0)] = this.#chunks;
    const body = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : firstChunk;
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: withoutMark(body),
      ...(this.#events ? { streamed: true } : {}),
      ...(this.#media ? { wasStreamed: true } : {}),
    });
  }
}

const isOfType = (headers: ResponseHeaders, type: string): boolean =>
  (header(headers, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() === type;

/** Some writers start UTF-8 with a byte order mark, which is not part of the text (RFC 8259, 8.1). */
const withoutMark = (body: Buffer): Buffer => (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body);

const tooLarge = (): Error =>
  Object.assign(new Error(`the answer is larger than ${bodyLimit / 1_048_576} MiB`), { code: 'ERR_BODY_LIMIT' });
