/** Whether a local service answers, and which one it is. Needs no credential. */
import { Agent } from '../base/undici.ts';

export interface Health {
  status: string;
  version: string;
  /** Differs for every start of a service. */
  instance_id: string;
}

/** The health of the service at `url`, or undefined when none answers within `milliseconds`. */
export async function readHealth(url: string, milliseconds = 2_000): Promise<Health | undefined> {
  // Nothing secret is sent, and who answers is known by its instance: a certificate for another name is no obstacle.
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
