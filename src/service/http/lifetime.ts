/** How long it makes sense to work on a request: until its client disconnects or the service stops. */
import type { ServerResponse } from 'node:http';

export class Lifetime {
  readonly #response: ServerResponse;
  readonly #shutdown: AbortSignal;
  #signal: AbortSignal | undefined;

  constructor(response: ServerResponse, shutdown: AbortSignal) {
    this.#response = response;
    this.#shutdown = shutdown;
  }

  /** Aborted at the end of the lifetime. Created on first use, because most requests are answered without it. */
  get signal(): AbortSignal {
    this.#signal ??= this.#watch();
    return this.#signal;
  }

  #watch(): AbortSignal {
    const abort = new AbortController();
    const end = (): void => {
      this.#shutdown.removeEventListener('abort', end);
      abort.abort();
    };
    this.#shutdown.addEventListener('abort', end);
    // This also happens after the last byte, when listeners have nothing left to end.
    this.#response.once('close', end);
    if (this.#shutdown.aborted || this.#response.closed) end();
    return abort.signal;
  }
}
