/** Opening event streams when there are no connections left for them. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Agent } from '../../src/base/undici.ts';
import { NoStreamError, openStream } from '../../src/client/event-streams.ts';
import { afterTest } from '../support/temporary.ts';

it('gives up a stream whose request is not answered because all connections are in use', async () => {
  const server = http.createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dispatcher = new Agent({ connections: 1 });
  afterTest(async () => {
    server.closeAllConnections();
    server.close();
    await dispatcher.destroy();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const open = (clock = systemClock) =>
    openStream(dispatcher, { origin, path: '/', headers: {} }, { clock, signal: new AbortController().signal, onHead: () => undefined });
  const first = await open();
  const waits: number[] = [];
  const failure = await open({
    now: Date.now,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
    },
  }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(NoStreamError);
  // It is tried again later.
  expect(failure).toMatchObject({ final: false, wait: undefined });
  expect(waits).toEqual([30_000]);
  first.close(new Error('The test is over.'));
});
