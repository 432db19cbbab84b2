/** Tests whether this machine can contain programs, without a running service. */
import { createServer } from 'node:net';
import { Containment, type ContainmentOptions } from './containment.ts';
import type { Shortfall } from './shortfall.ts';

/** What is missing; undefined if programs can be contained. A temporary port takes the place of the service's port. */
export async function trialShortfall(options: Omit<ContainmentOptions, 'setting'>): Promise<Shortfall | undefined> {
  const server = createServer((socket) => socket.on('error', () => undefined).end());
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  try {
    const containment = new Containment({ ...options, setting: 'auto' });
    await containment.start('127.0.0.1', (server.address() as { port: number }).port);
    return containment.shortfall;
  } finally {
    server.close();
  }
}
