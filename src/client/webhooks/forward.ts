/** Forwards a delivery to another address, byte for byte, with the headers that its signature needs. */
import { Agent } from '../../base/undici.ts';
import type { ReceivedDelivery } from './receiver.ts';
import { webhookHeaders } from './signature.ts';

const forwardedHeaders: readonly string[] = ['content-type', 'user-agent', ...webhookHeaders];
const timeLimit = 30_000;

export interface Forwarder {
  /** The status of the response, or why there is none, as part of a sentence. Redirects are not followed. */
  forward(delivery: ReceivedDelivery): Promise<{ status: number } | { problem: string }>;
  close(): Promise<void>;
}

export function forwarder(target: string): Forwarder {
  const { origin, pathname, search } = new URL(target);
  const agent = new Agent({ pipelining: 0 });
  return {
    async forward({ headers, body }) {
      const forwardedPairs = headers.filter(([name]) => forwardedHeaders.includes(name.toLowerCase()));
      try {
        const response = await agent.request({
          origin,
          path: `${pathname}${search}`,
          method: 'POST',
          headers: Object.fromEntries(forwardedPairs),
          body,
          signal: AbortSignal.timeout(timeLimit),
        });
        await response.body.dump();
        return { status: response.statusCode };
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        return { problem: code === 'ECONNREFUSED' ? 'the connection was refused' : message };
      }
    },
    close: () => agent.destroy(),
  };
}
