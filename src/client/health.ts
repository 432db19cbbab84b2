/** Checks whether a local service answers, and identifies it. Needs no credential. */
import { Agent } from '../base/undici.ts';

export interface Health {
  status: string;
  version: string;
  /** Different for every start of a service. */
  instance_id: string;
}

/** The health of the service at `url`, or undefined when no service answers within `milliseconds`. */
export async function readHealth(url: string, milliseconds = 2_000): Promise<Health | undefined> {
  // No secret is sent, and the service is identified by its instance ID, so a certificate for another name is acceptable.
  const agent = new Agent({ connections: 1, connect: { rejectUnauthorized: false } });
  try {
    const { statusCode, body } = await agent.request({
      origin: url,
      path: '/healthz',
      method: 'GET',
      signal: AbortSignal.timeout(milliseconds),
    });
    const health = (await body.json()) as Health;
    return statusCode === 200 ? health : undefined;
  } catch {
    return undefined;
  } finally {
    await agent.destroy();
  }
}
