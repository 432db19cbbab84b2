/** Sends a delivery to another address, byte for byte, with the headers that its signature needs. */
import { Agent } from '../../base/undici.ts';
import { failure } from '../transport.ts';
import { webhookHeaders } from './signature.ts';

const forwardedHeaders: readonly string[] = ['content-type', 'user-agent', ...webhookHeaders];
/** Milliseconds. */
const timeLimit = 30_000;

export interface Request {
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
}

/** The status of the response, or why there is none, as part of a sentence; and how long it took, in milliseconds. */
export type Forwarded = ({ status: number } | { problem: string }) & { duration_ms: number };

export class Forwarder {
  readonly #agent = new Agent({ pipelining: 0 });
  /** Returns the time in milliseconds. */
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sends a request to an address. Redirects are not followed. */
  async forward(target: string, { headers, body }: Request): Promise<Forwarded> {
    const { origin, pathname, search } = new URL(target);
    const startedAt = this.#now();
    const duration = () => ({ duration_ms: Math.max(0, Math.round(this.#now() - startedAt)) });
    try {
      const response = await this.#agent.request({
        origin,
        path: `${pathname}${search}`,
        method: 'POST',
        headers: headers.filter(([name]) => forwardedHeaders.includes(name.toLowerCase())).flat(),
        body,
        signal: AbortSignal.timeout(timeLimit),
      });
      await response.body.dump();
      return { status: response.statusCode, ...duration() };
    } catch (error) {
      return { problem: problemOf(error), ...duration() };
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

function problemOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `there was no response within ${timeLimit / 1_000} s`;
  return failure(error).reason;
}
