/** The interface of the service, called as every client calls it: a Bearer token, idempotency keys, and patience when it asks for some. */

import { Events } from './events.js';

/** The service answered with an error. */
export class ApiError extends Error {
  /** @param {number} status @param {{ error?: string, message?: string, scope?: string }} body @param {number} retryAfter seconds */
  constructor(status, body, retryAfter) {
    super(body.message ?? body.error ?? `The service answered ${status}.`);
    this.status = status;
    this.code = body.error ?? '';
    this.scope = body.scope;
    this.retryAfter = retryAfter;
  }
}

/** No answer came: the service is not there, or the network is not. */
export class Unreachable extends Error {
  constructor() {
    super('The service is not reachable.');
  }
}

/** Milliseconds for an answer. */
const patience = 20_000;

export class Api {
  #token;
  /** Until then (milliseconds) the service wants no requests. */
  #pausedUntil = 0;

  /** @param {string} token */
  constructor(token) {
    this.#token = token;
  }

  /**
   * Reads. @template Answer
   * @param {string} path @param {Record<string, string | number | undefined>} [query] @param {AbortSignal} [signal]
   * @returns {Promise<Answer>}
   */
  get(path, query = {}, signal) {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') search.set(name, String(value));
    return this.#send('GET', search.size === 0 ? path : `${path}?${search}`, { signal });
  }

  /**
   * Changes. The same key again never does it twice. @template Answer
   * @param {string} path @param {unknown} body @param {string} key
   * @returns {Promise<Answer>}
   */
  post(path, body, key) {
    return this.#send('POST', path, { body, key });
  }

  /** A stream of events. @param {string} path @param {() => void} changed there may be something new to read */
  events(path, changed) {
    return new Events(this.#token, path, changed);
  }

  /** Ends the session that the token is of; a pasted token stays valid. */
  async endSession() {
    await this.#send('DELETE', '/page/session', {});
  }

  /**
   * @param {string} method @param {string} path
   * @param {{ body?: unknown, key?: string, signal?: AbortSignal }} options
   */
  async #send(method, path, { body, key, signal }) {
    const pause = Math.ceil((this.#pausedUntil - Date.now()) / 1_000);
    if (pause > 0) throw new ApiError(429, { error: 'rate_limited', message: `The service asks for a pause of ${pause} s.` }, pause);
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
    if (response.ok) return parsed(text);
    const retryAfter = Number(response.headers.get('Retry-After') ?? 0) || 0;
    if (response.status === 429) this.#pausedUntil = Date.now() + Math.max(1, retryAfter) * 1_000;
    throw new ApiError(response.status, parsed(text) ?? {}, Math.max(response.status === 429 ? 1 : 0, retryAfter));
  }
}

/** @param {string} text @returns {any} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A new idempotency key. Made by hand: `randomUUID` is missing where a service is reached without TLS. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * Keys for what a person sends: the same content again has the same key, so that pressing a button twice, or again after
 * the connection broke, counts once.
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

  /** What was sent has been dealt with: sent again, it is meant again. */
  forget() {
    this.#content = '';
  }
}
