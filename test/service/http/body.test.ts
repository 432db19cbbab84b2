/** Bodies of clients that leave. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { readBody } from '../../../src/service/http/body.ts';
import { afterTest } from '../../support/temporary.ts';

it('of a client that has left before it is read is not waited for', async () => {
  const server = createServer();
  afterTest(() => new Promise((resolve) => server.close(resolve)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const arrived = once(server, 'request');
  client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
  const [request] = (await arrived) as [IncomingMessage];
  request.on('error', () => undefined);
  const left = new Promise((resolve) => request.once('close', resolve));
  client.destroy();
  await left;
  // The time it may take is that of a slow client; the test has less.
  await expect(readBody(request, 100, 3_600_000)).rejects.toMatchObject({ status: 400 });
});
