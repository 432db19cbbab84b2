/** The response to a request for an event stream, read no faster than its events are consumed. */
import type { Dispatcher } from '../base/undici.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { header, type ResponseHeaders } from './limits/rate-limit.ts';

/** Maximum size of one event, in characters. */
const maxEventLength = 32 * 1024 * 1024;
/** Size of the unconsumed events, in characters, at which reading pauses. */
const maxQueuedLength = 1024 * 1024;

export interface StreamHead {
  status: number;
  headers: ResponseHeaders;
}

export class EventReader implements Dispatcher.DispatchHandler {
  /** Resolves with the head of the response. Unless `isStream` is true for it, nothing more is read. */
  readonly head: Promise<StreamHead>;
  /** Resolves when the first part of the stream has arrived. */
  readonly started: Promise<void>;
  readonly #parser = new EventStreamParser(maxEventLength);
  readonly #queue: StreamEvent[] = [];
  #queuedLength = 0;
  #isPaused = false;
  #controller: Dispatcher.DispatchController | undefined;
  #end: { error?: unknown } | undefined;
  #resolveHead!: (head: StreamHead) => void;
  #rejectHead!: (error: unknown) => void;
  #resolveStarted!: () => void;
  #wake: () => void = () => undefined;

  constructor() {
    this.head = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
    this.head.catch(() => undefined);
    this.started = new Promise((resolve) => {
      this.#resolveStarted = resolve;
    });
  }

  /** Milliseconds after which the service wants clients to reconnect; undefined when it does not say. */
  get retry(): number | undefined {
    return this.#parser.retry;
  }

  /** The next event; undefined when the stream has ended. @throws the error that broke the stream */
  async next(): Promise<StreamEvent | undefined> {
    for (;;) {
      const event = this.#queue.shift();
      if (event !== undefined) {
        this.#queuedLength -= event.data.length;
        if (this.#isPaused && this.#queue.length === 0) this.#resume();
        return event;
      }
      if (this.#end !== undefined) {
        if ('error' in this.#end) throw this.#end.error;
        return undefined;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Ends the exchange in any state. Events that are still queued are dropped. */
  close(reason: Error): void {
    this.#queue.length = 0;
    this.#finish({ error: reason });
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#end?.error !== undefined) controller.abort(this.#end.error as Error);
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return;
    const head = { status, headers };
    this.#resolveHead(head);
    if (!isStream(head)) this.close(new Error('the answer is not an event stream'));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#end !== undefined) return;
    this.#resolveStarted();
    try {
      for (const event of this.#parser.push(chunk)) {
        this.#queue.push(event);
        this.#queuedLength += event.data.length;
      }
    } catch (error) {
      this.close(error as Error);
      return;
    }
    if (this.#queuedLength > maxQueuedLength && !this.#isPaused) {
      this.#isPaused = true;
      controller.pause();
    }
    this.#wake();
  }

  /** An event that was not closed when the stream ended may be incomplete; the next stream sends it again. */
  onResponseEnd(): void {
    this.#finish({});
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#rejectHead(error);
    this.#finish({ error });
  }

  #resume(): void {
    this.#isPaused = false;
    // Not before undici's parser has noticed the pause (see exchange.ts).
    setImmediate(() => this.#controller?.resume());
  }

  #finish(end: { error?: unknown }): void {
    this.#end ??= end;
    if ('error' in end) this.#rejectHead(end.error);
    this.#resolveStarted();
    this.#wake();
  }
}

/** Whether a response is an event stream. */
export const isStream = ({ status, headers }: StreamHead): boolean =>
  status === 200 && /^text\/event-stream\s*(;|$)/i.test(header(headers, 'content-type') ?? '');
