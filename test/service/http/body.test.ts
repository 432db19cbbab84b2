/** Bodies of clients that leave. */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { bodyChunks, readBody } from '../../../src/service/http/body.ts';
import { afterTest } from '../../support/temporary.ts';

// The time it may take is that of a slow client; the test has less.
const hour = 3_600_000;

async function chunksOf(request: IncomingMessage): Promise<void> {
  for await (const chunk of bodyChunks(request, 100, hour)) expect(chunk.length).toBeGreaterThan(0);
}

it.each([
  ['whole', (request: IncomingMessage) => readBody(request, 100, hour)],
  ['in pieces', chunksOf],
])('the service does not wait for a body, read %s, of a client that has left', async (_, read) => {
  const server = createServer();
  afterTest(() => new Promise((resolve) => server.close(resolve)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const arrival = once(server, 'request');
  client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
  const [request] = (await arrival) as [IncomingMessage];
  request.on('error', () => undefined);
  const closing = new Promise((resolve) => request.once('close', resolve));
  client.destroy();
  await closing;
  await expect(read(request)).rejects.toMatchObject({ status: 400, message: expect.stringContaining('ended before') });
});

it.each([
  ['whole', (request: IncomingMessage) => readBody(request, 100, hour)],
  ['in pieces', chunksOf],
])('a body of unknown length, read %s, is rejected once it exceeds the limit', async (_, read) => {
  const server = createServer();
  afterTest(() => new Promise((resolve) => server.close(resolve)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const post = async (bytes: number): Promise<unknown> => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    const arrival = once(server, 'request');
    client.write(
      `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n0\r\n\r\n`,
    );
    const [request] = (await arrival) as [IncomingMessage];
    return read(request).finally(() => client.destroy());
  };
  await post(100);
  await expect(post(101)).rejects.toMatchObject({ status: 413, error: 'body_too_large' });
});
