/** Calls the interface like every other client: with a Bearer token and idempotency keys, and with a pause when the service requests one. */

import { Events } from './events.js';

/** The service answered with an error. */
export class ApiError extends Error {
  /** @param {number} status @param {{ error?: string, message?: string, scope?: string }} body @param {number} retryAfter seconds */
  constructor(status, body, retryAfter) {
    super(body.message ?? body.error ?? `The service responded with ${status}.`);
    this.status = status;
    this.code = body.error ?? '';
    this.scope = body.scope;
    this.retryAfter = retryAfter;
  }
}

/** No response arrived: the service or the network is not available. */
export class Unreachable extends Error {
  constructor() {
    super('The service cannot be reached.');
  }
}

/**
 * In which way the service is not available; undefined for an error that another attempt would not change.
 * @param {unknown} error @returns {import('./poller.js').Problem['kind'] | undefined}
 */
export function unavailability(error) {
  if (error instanceof Unreachable) return 'away';
  if (!(error instanceof ApiError)) return undefined;
  return error.status === 429 ? 'pause' : error.status >= 500 ? 'failing' : undefined;
}

/** Milliseconds to wait for a response. */
const patience = 20_000;

export class Api {
  #token;
  /** The service accepts no requests before this time (milliseconds). */
  #pausedUntil = 0;

  /** @param {string} token */
  constructor(token) {
    this.#token = token;
  }

  /**
   * Reads something. @template Answer
   * @param {string} path @param {Record<string, string | number | undefined>} [query] @param {AbortSignal} [signal]
   * @returns {Promise<Answer>}
   */
  get(path, query = {}, signal) {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') search.set(name, String(value));
    return this.#send('GET', search.size === 0 ? path : `${path}?${search}`, { signal });
  }

  /**
   * Changes something, at most once for each key. @template Answer
   * @param {string} path @param {unknown} body @param {string} key
   * @returns {Promise<Answer>}
   */
  post(path, body, key) {
    return this.#send('POST', path, { body, key });
  }

  /**
   * Sends a request that has the same result when it is repeated. @template Answer
   * @param {string} method @param {string} path @param {unknown} body
   * @returns {Promise<Answer>}
   */
  change(method, path, body) {
    return this.#send(method, path, { body });
  }

  /**
   * Uploads a file to a signed address of this service. Files can be large, so there is no time limit.
   * @param {string} path @param {Blob} file
   */
  async upload(path, file) {
    let response;
    try {
      response = await fetch(path, { method: 'PUT', body: file, cache: 'no-store', credentials: 'omit', redirect: 'error' });
    } catch {
      throw new Unreachable();
    }
    if (!response.ok) throw new ApiError(response.status, parseBody(await response.text()) ?? {}, 0);
  }

  /** Opens an event stream. @param {string} path @param {() => void} onChange called when there might be something new to read */
  events(path, onChange) {
    return new Events(this.#token, path, onChange);
  }

  /** Ends the session of the token; a pasted token stays valid. */
  async endSession() {
    await this.#send('DELETE', '/page/session', {});
  }

  /**
   * @param {string} method @param {string} path
   * @param {{ body?: unknown, key?: string, signal?: AbortSignal }} options
   */
  async #send(method, path, { body, key, signal }) {
    const pause = Math.ceil((this.#pausedUntil - Date.now()) / 1_000);
    if (pause > 0) throw new ApiError(429, { error: 'rate_limited', message: `The service requested a pause of ${pause} s.` }, pause);
    const limit = AbortSignal.timeout(patience);
    let response;
    let text;
    try {
      response = await fetch(path, {
        method,
        headers: {
          Authorization: `Bearer ${this.#token}`,
          ...(key === undefined ? {} : { 'Idempotency-Key': key }),
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
      });
      text = await response.text();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Unreachable();
    }
    if (response.ok && text === '') return undefined;
    if (response.ok) return parseBody(text) ?? foreign();
    const retryAfter = Number(response.headers.get('Retry-After') ?? 0) || 0;
    if (response.status === 429) this.#pausedUntil = Date.now() + Math.max(1, retryAfter) * 1_000;
    throw new ApiError(response.status, parseBody(text) ?? {}, Math.max(response.status === 429 ? 1 : 0, retryAfter));
  }
}

/** A proxy, or the network, responded instead of the service. @returns {never} */
export const foreign = () => {
  throw new ApiError(502, { message: 'The response does not come from the service.' }, 0);
};

/** @param {string} text @returns {any} */
export function parseBody(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A new idempotency key. `randomUUID` is not available on pages without TLS. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * Keys for what a person sends. The same content has the same key, so it counts once when a button is pressed twice, or again after
 * the connection broke.
 */
export class Keys {
  #content = '';
  #key = '';

  /** @param {unknown} body */
  for(body) {
    const content = JSON.stringify(body);
    if (content !== this.#content) {
      this.#content = content;
      this.#key = newKey();
    }
    return this.#key;
  }

  /** Forgets the key after a reply: if the same content is sent again, it counts again. */
  forget() {
    this.#content = '';
  }
}
