/** How long it makes sense to work on a request: until its client disconnects or the service stops. */
import type { ServerResponse } from 'node:http';

export class Lifetime {
  readonly #response: ServerResponse;
  readonly #closing: AbortSignal;
  #signal: AbortSignal | undefined;

  constructor(response: ServerResponse, closing: AbortSignal) {
    this.#response = response;
    this.#closing = closing;
  }

  /** Aborted at the end of the lifetime. Created on first use, because most requests are answered without it. */
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
    // This also happens after the last byte, when listeners have nothing left to end.
    this.#response.once('close', end);
    if (this.#closing.aborted || this.#response.closed) end();
    return ended.signal;
  }
}
