/** How long it makes sense to work on a request: until its client has left, or the service ends. */
import type { ServerResponse } from 'node:http';

export class Lifetime {
  readonly #response: ServerResponse;
  readonly #closing: AbortSignal;
  #signal: AbortSignal | undefined;

  constructor(response: ServerResponse, closing: AbortSignal) {
    this.#response = response;
    this.#closing = closing;
  }

  /** Aborted at its end. Made when somebody asks for it: most requests are answered before anybody does. */
  get signal(): AbortSignal {
    this.#signal ??= this.#watch();
    return this.#signal;
  }

  #watch(): AbortSignal {
    const ended = new AbortController();
    const end = (): void => {
      this.#closing.removeEventListener('abort', end);
      ended.abort();
    };
    this.#closing.addEventListener('abort', end, { once: true });
    // Also after the last byte: whoever listens then has nothing left to end.
    this.#response.once('close', end);
    if (this.#closing.aborted || this.#response.closed) end();
    return ended.signal;
  }
}
