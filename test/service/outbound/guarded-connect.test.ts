/** Connections that are opened for programs: to allowed addresses only, and without a time limit once they are open. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { type Guard, guardedConnect, HostNotAllowedError } from '../../../src/service/outbound/guarded-lookup.ts';
import type { Lookup } from '../../../src/service/outbound/system-lookup.ts';
import { afterTest } from '../../support/temporary.ts';

/** A server on this machine that counts its connections. */
async function startHost() {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    afterTest(async () => void socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterTest(async () => void server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

const lookup: Lookup = (_host, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
const guard = (allows: Guard['allows']): Guard => ({
  allows,
  lookup,
  refuse: (host) => new HostNotAllowedError(`may not connect to ${host}`),
});

it.each(['127.0.0.1', 'a.test'])('are refused to %s if its address is not allowed, without an attempt', async (host) => {
  const { port, connections } = await startHost();
  const refusal = guardedConnect(
    guard((_, address) => address !== '127.0.0.1'),
    { host, port },
    10_000,
  );
  await expect(refusal).rejects.toThrow(`may not connect to ${host}`);
  expect(connections()).toBe(0);
});

it.each(['127.0.0.1', 'a.test'])('to %s are open as long as they are needed', async (host) => {
  const { port } = await startHost();
  const socket = await guardedConnect(
    guard(() => true),
    { host, port },
    10_000,
  );
  afterTest(async () => void socket.destroy());
  expect([socket.remotePort, socket.timeout]).toEqual([port, 0]);
});
