/** One attempt to deliver something: when it is aborted, and what is read of the answer. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { HostRules } from '../../../src/service/outbound/host-rules.ts';
import { Sender } from '../../../src/service/outbound/sender.ts';
import { failureOf } from '../../client/harness.ts';
import { afterTest } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';

/** A sender, and the URL of a receiver that answers like this. */
async function startReceiver(answer: (request: IncomingMessage, response: ServerResponse) => void, clock: Clock = systemClock) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sender = new Sender({ clock, rules: new HostRules(['loopback']), refusalMessage: (host) => `refuses ${host}` });
  afterTest(async () => {
    await sender.close();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?a=b`;
  return { send: (signal = new AbortController().signal) => sender.post(url, {}, '{}', signal), requests: () => requests };
}

const reason = new Error('enough');

it('sends nothing if it was aborted before', async () => {
  const { send, requests } = await startReceiver((_, response) => response.end());
  expect(await failureOf(send(AbortSignal.abort(reason)))).toBe(reason);
  expect(requests()).toBe(0);
});

it.each([
  ['before the answer', () => undefined],
  ['in the middle of the answer', (response: ServerResponse) => response.writeHead(200).write('part')],
])('is no attempt if it is aborted %s', async (_, answer) => {
  const controller = new AbortController();
  const { send } = await startReceiver((_, response) => {
    answer(response);
    setImmediate(() => controller.abort(reason));
  });
  expect(await failureOf(send(controller.signal))).toBe(reason);
});

it('counts what the receiver has answered, although the body breaks off', async () => {
  const { send } = await startReceiver((_, response) => {
    response.writeHead(202, { 'content-length': 50 });
    response.write('part', () => response.destroy());
  });
  expect(await send()).toMatchObject({ status: 202, error: null, body: 'part' });
});

it.each([
  [200, null],
  [299, null],
  [300, 'answered 300; redirects are not followed'],
  [304, 'answered 304; redirects are not followed'],
  [399, 'answered 399, a redirect; redirects are not followed'],
  [400, 'answered 400'],
])('reports the status %i as %s, and reads no more than 2 KB', async (status, error) => {
  const { send } = await startReceiver((_, response) => {
    response.writeHead(status, status === 399 ? { location: '/x' } : {}).end(status === 304 ? '' : 'x'.repeat(9_000));
  });
  expect(await send()).toMatchObject({ status, error, body: status === 304 ? '' : 'x'.repeat(2_048) });
});

it('does not wait for the end of a long body, and ends the connection', async () => {
  let closed: Promise<unknown> | undefined;
  const { send } = await startReceiver((request, response) => {
    closed = once(request.socket, 'close');
    response.writeHead(200).write('x'.repeat(9_000));
  });
  expect(await send()).toMatchObject({ status: 200, body: 'x'.repeat(2_048) });
  await closed;
});

it('reports how long the answer took', async () => {
  const clock = new ManualClock();
  const { send } = await startReceiver((_, response) => {
    clock.advance(40);
    response.end();
  }, clock);
  expect(await send()).toMatchObject({ status: 200, duration: 40 });
});

it('reports a connection that ends without an answer', async () => {
  const { send } = await startReceiver(({ socket }) => socket.destroy());
  expect(await send()).toMatchObject({ status: null, error: 'the connection was closed before the response was complete', body: null });
});
