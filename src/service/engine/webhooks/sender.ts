/**
 * One attempt: a POST on a connection of its own, to an address that was judged when it was dialled. No redirects, 15 seconds
 * for everything, and no more of the answer than its first 2 KB.
 */
import { Buffer } from 'node:buffer';
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type Clock, steadyTime } from '../../../base/clock.ts';
import { Agent, buildConnector, type Connector, type Dispatcher } from '../../../base/undici.ts';
import { version } from '../../../base/version.ts';
import type { HostRules } from './host-rules.ts';
import { retryAfter } from './schedule.ts';

/** Milliseconds for connecting, sending and the answer together. */
const deadline = 15_000;
const keptBytes = 2_048;

/** All addresses of a name, as `dns.lookup` answers with `all`. */
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** What came of an attempt. */
export interface Sent {
  /** Null when there was no answer. */
  status: number | null;
  /** Why it does not count as delivered, half a sentence; null for 2xx. */
  error: string | null;
  /** The beginning of the answer's body. */
  body: string | null;
  /** Milliseconds that the receiver asked to be left alone. */
  retryAfter: number | undefined;
  /** Milliseconds. */
  duration: number;
}

/** A host that webhooks may not be sent to. */
export class HostNotAllowedError extends Error {
  constructor(host: string) {
    super(`webhooks may not be sent to ${host}`);
    this.name = 'HostNotAllowedError';
  }
}

export class Sender {
  readonly #clock: Clock;
  readonly #rules: HostRules;
  readonly #lookup: Lookup;
  readonly #agent: Dispatcher;

  constructor(parts: { clock: Clock; rules: HostRules; lookup?: Lookup | undefined }) {
    this.#clock = parts.clock;
    this.#rules = parts.rules;
    this.#lookup = parts.lookup ?? (systemLookup as Lookup);
    // No connection is used twice: one that the receiver has closed meanwhile would look like a failure of his.
    this.#agent = new Agent({ pipelining: 0, headersTimeout: 0, bodyTimeout: 0, connect: this.#connector() });
  }

  /** Sends one request. Rejects only with the signal's reason. */
  async post(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<Sent> {
    signal.throwIfAborted();
    const began = steadyTime(this.#clock);
    const duration = (): number => Math.max(0, Math.round(steadyTime(this.#clock) - began));
    const limit = new AbortController();
    const over = new AbortController();
    const late = this.#clock.sleep(deadline, over.signal).then(
      () => limit.abort(new Error(`no answer within ${deadline / 1_000} s`)),
      () => undefined,
    );
    const either = AbortSignal.any([signal, limit.signal]);
    try {
      const response = await orAborted(this.#request(url, headers, body, either), either);
      const status = response.statusCode;
      const text = await beginning(response.body, either);
      signal.throwIfAborted();
      return {
        status,
        error: problemOf(status, response.headers),
        body: text,
        retryAfter: this.#retryAfter(response),
        duration: duration(),
      };
    } catch (error) {
      signal.throwIfAborted();
      return { status: null, error: reasonOf(error), body: null, retryAfter: undefined, duration: duration() };
    } finally {
      over.abort();
      await late;
    }
  }

  /** Whether an address of the host may be dialled; also when the host cannot be looked up, as it may be there later. */
  async mayReach(host: string): Promise<boolean> {
    const bare = unbracketed(host);
    if (isIP(bare) !== 0) return this.#rules.allows(bare, bare);
    return new Promise((resolve) => {
      this.#lookup(bare, { all: true }, (error, addresses) =>
        resolve(error !== null || addresses.some(({ address }) => this.#rules.allows(bare, address))),
      );
    });
  }

  /** Gives up what is under way. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #request(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { origin, pathname, search } = new URL(url);
    const own = { 'content-type': 'application/json', 'user-agent': `aops/${version}` };
    return this.#agent.request({ origin, path: `${pathname}${search}`, method: 'POST', headers: { ...own, ...headers }, body, signal });
  }

  #retryAfter({ headers }: Dispatcher.ResponseData): number | undefined {
    return retryAfter([headers['retry-after']].flat()[0], this.#clock.now());
  }

  #connector(): Connector.connector {
    const connect = buildConnector({ timeout: deadline, lookup: this.#guardedLookup });
    return (options, done) => {
      const host = unbracketed(options.hostname);
      // An address is dialled without being looked up.
      if (isIP(host) !== 0 && !this.#rules.allows(host, host)) return done(new HostNotAllowedError(host), null);
      return connect(options, done);
    };
  }

  /** Answers with the addresses that may be dialled, and those are what is dialled. */
  readonly #guardedLookup: LookupFunction = (host, options, done) => {
    this.#lookup(host, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      const addresses = found.filter(({ address }) => this.#rules.allows(host, address));
      const [first] = addresses;
      if (first === undefined) return done(new HostNotAllowedError(host), []);
      if ((options as LookupOptions).all) return done(null, addresses);
      return done(null, first.address, first.family);
    });
  };
}

const unbracketed = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** undici notices an abort only once it is connected; this ends at once, with the signal's reason. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined);
    aborted.catch(() => undefined);
  }
}

/** The first bytes of a body as text. What is wrong with a body changes nothing: the status has been given. */
async function beginning(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<string> {
  body.on('error', () => undefined);
  const chunks: Buffer[] = [];
  let size = 0;
  const read = async (): Promise<void> => {
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size >= keptBytes) break;
    }
  };
  await orAborted(read(), signal).catch(() => undefined);
  body.destroy();
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, keptBytes), { stream: true });
}

/** Only 2xx is a yes; a redirect is not followed, and so is none. */
function problemOf(status: number, headers: Dispatcher.ResponseData['headers']): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400)
    return `answered ${status}${headers.location === undefined ? '' : ', a redirect'}; redirects are not followed`;
  return `answered ${status}`;
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed while sending',
  ENOTFOUND: 'the host name could not be found',
  EAI_AGAIN: 'the host name could not be looked up just now',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'the connection could not be made in time',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large',
};

function reasonOf(error: unknown): string {
  const { code = '', name = '', message = '', errors } = error as { code?: string; name?: string; message?: string; errors?: unknown[] };
  if (error instanceof HostNotAllowedError || (error instanceof Error && code === '' && name === 'Error')) return message;
  if (errors?.length) return reasonOf(errors[0]);
  if (name === 'HTTPParserError' || code.startsWith('HPE_')) return 'the answer was no valid HTTP';
  return reasons[code] ?? `the connection failed${code === '' ? '' : ` (${code})`}`;
}
