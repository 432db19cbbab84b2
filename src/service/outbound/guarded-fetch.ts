/**
 * fetch for libraries that need one, over guarded connections: no redirects, no cookies, no compression, and a limit for the size
 * of all responses together.
 */
import { Readable, Transform } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import { orAborted } from '../../base/abort.ts';
import { version } from '../../base/version.ts';
import type { GuardedAgent } from './guarded-agent.ts';
import { connectionProblem } from './problems.ts';

/** A request got no acceptable response. Its message is half a sentence. */
export class OutboundError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OutboundError';
  }
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface FetchLimits {
  /** The maximum size of all responses together, in bytes. */
  bytes: number;
  /** Aborts every request, also while its body is being read. */
  signal: AbortSignal;
}

/** A fetch that rejects with OutboundError, or the signal's reason. */
export function guardedFetch(agent: GuardedAgent, { bytes, signal }: FetchLimits): Fetch {
  let remaining = bytes;
  const take = (count: number): void => {
    remaining -= count;
    if (remaining < 0) throw new OutboundError(`the responses are larger than ${bytes} bytes`);
  };
  return async (url, init = {}) => {
    const request = new Request(url, { ...init, signal: null });
    const anySignal = init.signal ? AbortSignal.any([signal, init.signal]) : signal;
    const { origin, pathname, search } = new URL(request.url);
    try {
      const response = agent.dispatcher.request({
        origin,
        path: `${pathname}${search}`,
        method: request.method as 'GET',
        headers: { 'user-agent': `aops/${version}`, ...Object.fromEntries(request.headers), 'accept-encoding': 'identity' },
        ...(request.body === null ? {} : { body: await request.text() }),
        signal: anySignal,
      });
      const { statusCode, headers, body } = await orAborted(response, anySignal);
      // A caller that stops reading does not need the error either.
      body.on('error', () => undefined);
      if (statusCode >= 300 && statusCode < 400 && statusCode !== 304) {
        body.destroy();
        throw new OutboundError(`it responded with ${statusCode}, a redirect; redirects are not followed`);
      }
      const empty = request.method === 'HEAD' || [204, 205, 304].includes(statusCode);
      if (empty) body.destroy();
      return new Response(empty ? null : limitStream(body, take), { status: statusCode, headers: headerPairs(headers) });
    } catch (error) {
      anySignal.throwIfAborted();
      throw error instanceof OutboundError ? error : new OutboundError(connectionProblem(error), { cause: error });
    }
  };
}

function limitStream(body: Readable, take: (count: number) => void): ReadableStream<Uint8Array> {
  const counter = new Transform({
    transform(chunk: Uint8Array, _encoding, callback) {
      try {
        take(chunk.length);
        callback(null, chunk);
      } catch (error) {
        callback(error as Error);
      }
    },
  });
  body.once('error', (error) => counter.destroy(error));
  counter.once('close', () => body.destroy());
  counter.on('error', () => undefined);
  return Readable.toWeb(body.pipe(counter)) as NodeReadableStream as ReadableStream<Uint8Array>;
}

const headerPairs = (headers: Record<string, string | string[] | undefined>): [string, string][] =>
  Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((item): [string, string] => [name, item]));
