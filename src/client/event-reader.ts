/** The answer to a request for a stream of events, read as fast as its reader takes them, and no faster. */
import type { Dispatcher } from '../base/undici.ts';
import { EventStreamParser, type StreamEvent } from './event-stream.ts';
import { header, type ResponseHeaders } from './limits/rate-limit.ts';

/** Characters of one event. */
const largestEvent = 32 * 1024 * 1024;
/** Characters of events that were not taken yet, from which on no more is read. */
const largestQueue = 1024 * 1024;

export interface StreamHead {
  status: number;
  headers: ResponseHeaders;
}

export class EventReader implements Dispatcher.DispatchHandler {
  /** Resolves with the head of the answer. It is a stream when `isStream` says so; nothing more is read otherwise. */
  readonly head: Promise<StreamHead>;
  /** Resolves when something of the stream has arrived. */
  readonly begun: Promise<void>;
  readonly #parser = new EventStreamParser(largestEvent);
  readonly #queue: StreamEvent[] = [];
  #queued = 0;
  #paused = false;
  #controller: Dispatcher.DispatchController | undefined;
  #end: { error?: unknown } | undefined;
  #tellHead!: (head: StreamHead) => void;
  #failHead!: (error: unknown) => void;
  #tellBegun!: () => void;
  #wake: () => void = () => undefined;

  constructor() {
    this.head = new Promise((resolve, reject) => {
      this.#tellHead = resolve;
      this.#failHead = reject;
    });
    this.head.catch(() => undefined);
    this.begun = new Promise((resolve) => {
      this.#tellBegun = resolve;
    });
  }

  /** Milliseconds after which the service wants to be asked again when the stream has ended; undefined when it does not say. */
  get retry(): number | undefined {
    return this.#parser.retry;
  }

  /** The next event; undefined when the stream has ended. @throws what broke it */
  async next(): Promise<StreamEvent | undefined> {
    for (;;) {
      const event = this.#queue.shift();
      if (event !== undefined) {
        this.#queued -= event.data.length;
        if (this.#paused && this.#queue.length === 0) this.#goOn();
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

  /** Ends the exchange, wherever it is. What is still queued is not told any more. */
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
    this.#tellHead(head);
    if (!isStream(head)) this.close(new Error('the answer is not a stream of events'));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#end !== undefined) return;
    this.#tellBegun();
    try {
      for (const event of this.#parser.push(chunk)) {
        this.#queue.push(event);
        this.#queued += event.data.length;
      }
    } catch (error) {
      this.close(error as Error);
      return;
    }
    if (this.#queued > largestQueue && !this.#paused) {
      this.#paused = true;
      controller.pause();
    }
    this.#wake();
  }

  /** An event that was not closed when the stream ended may be half of one, and comes again with the next stream. */
  onResponseEnd(): void {
    this.#finish({});
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#failHead(error);
    this.#finish({ error });
  }

  #goOn(): void {
    this.#paused = false;
    // Never before undici's parser has taken note of the pause (see exchange.ts).
    setImmediate(() => this.#controller?.resume());
  }

  #finish(end: { error?: unknown }): void {
    this.#end ??= end;
    if ('error' in end) this.#failHead(end.error);
    this.#tellBegun();
    this.#wake();
  }
}

/** Whether an answer is what was asked for. */
export const isStream = ({ status, headers }: StreamHead): boolean =>
  status === 200 && /^text\/event-stream\s*(;|$)/i.test(header(headers, 'content-type') ?? '');
