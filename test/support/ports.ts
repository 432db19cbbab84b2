/** Ports of this machine on which no process, or another process, listens. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { whenDone } from './temporary.ts';

/** A port on which a server listens until the last test of the file. */
export async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  whenDone(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A port on which no process listens: it was free a moment ago. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
