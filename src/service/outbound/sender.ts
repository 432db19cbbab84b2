/**
 * One attempt: a POST on a connection of its own, to an address that was judged when it was dialled. No redirects, 15 seconds
 * for everything, and no more of the answer than its first 2 KB.
 */

import { Buffer } from 'node:buffer';
import { orAborted } from '../../base/abort.ts';
import { type Clock, steadyTime } from '../../base/clock.ts';
import type { Dispatcher } from '../../base/undici.ts';
import { version } from '../../base/version.ts';
import { hostTrouble } from '../host-trouble.ts';
import { retryAfter } from './attempt-times.ts';
import { GuardedAgent, type Lookup } from './guarded-agent.ts';
import type { HostRules } from './host-rules.ts';
import { connectionProblem } from './problems.ts';
import { withinTime } from './within-time.ts';

/** Milliseconds for connecting, sending and the answer together. */
const deadline = 15_000;
const keptBytes = 2_048;

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

export class Sender {
  readonly #clock: Clock;
  readonly #agent: GuardedAgent;

  constructor(parts: { clock: Clock; rules: HostRules; lookup?: Lookup | undefined }) {
    this.#clock = parts.clock;
    this.#agent = new GuardedAgent({ ...parts, deadline, refused: (host) => `webhooks may not be sent to ${host}` });
  }

  /** Sends one request. Rejects with the signal's reason, or with trouble of the host: that is no attempt. */
  async post(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<Sent> {
    signal.throwIfAborted();
    const began = steadyTime(this.#clock);
    const duration = (): number => Math.max(0, Math.round(steadyTime(this.#clock) - began));
    const late = (): Error => new Error(`no answer within ${deadline / 1_000} s`);
    try {
      return await withinTime(this.#clock, { limit: deadline, late, signal }, async (either) => {
        const response = await this.#request(url, headers, body, either);
        const status = response.statusCode;
        const text = await beginning(response.body, either);
        signal.throwIfAborted();
        const asked = this.#retryAfter(response);
        return { status, error: problemOf(status, response.headers), body: text, retryAfter: asked, duration: duration() };
      });
    } catch (error) {
      signal.throwIfAborted();
      if (hostTrouble(error) !== undefined) throw error;
      return { status: null, error: connectionProblem(error), body: null, retryAfter: undefined, duration: duration() };
    }
  }

  /** Whether an address of the host may be dialled; see GuardedAgent. */
  mayReach(host: string): Promise<boolean> {
    return this.#agent.mayReach(host);
  }

  /** Gives up what is under way. */
  async close(): Promise<void> {
    await this.#agent.close();
  }

  #request(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { origin, pathname, search } = new URL(url);
    const own = { 'content-type': 'application/json', 'user-agent': `aops/${version}` };
    return this.#agent.dispatcher.request({
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: { ...own, ...headers },
      body,
      signal,
    });
  }

  #retryAfter({ headers }: Dispatcher.ResponseData): number | undefined {
    return retryAfter([headers['retry-after']].flat()[0], this.#clock.now());
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
