/** The fetch that libraries get: what it sends, what it accepts, and where it stops. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import { version } from '../../../src/base/version.ts';
import { GuardedAgent } from '../../../src/service/outbound/guarded-agent.ts';
import { guardedFetch } from '../../../src/service/outbound/guarded-fetch.ts';
import { HostRules } from '../../../src/service/outbound/host-rules.ts';
import { failureOf } from '../../client/harness.ts';
import { afterTest, whenDone } from '../../support/temporary.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let url: string;
let handler: Handler;
beforeAll(async () => {
  const server = createServer((request, response) => handler(request, response));
  whenDone(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

/** A fetch of at most 100 bytes, or as specified, from a server that answers like this. */
function fetchFrom(answer: Handler, { words = ['loopback'], bytes = 100, signal = new AbortController().signal } = {}) {
  handler = answer;
  const agent = new GuardedAgent({ rules: new HostRules(words), deadline: 5_000, refusalMessage: (host) => `may not connect to ${host}` });
  afterTest(() => agent.close());
  return guardedFetch(agent, { bytes, signal });
}

/** Answers with what was received, as JSON. */
const echo: Handler = async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method, url: target, headers } = request;
  const names = ['user-agent', 'accept-encoding', 'content-length', 'x'].filter((name) => headers[name] !== undefined);
  response.end([method, target, ...names.map((name) => `${name}=${headers[name]}`), Buffer.concat(chunks)].join(' '));
};

it('sends the method, the path with its query, the headers, and the body', async () => {
  const fetch = fetchFrom(echo, { bytes: 1_000 });
  const agent = `user-agent=aops/${version} accept-encoding=identity`;
  expect(await (await fetch(`${url}/a?b=c`)).text()).toBe(`GET /a?b=c ${agent} `);
  const response = await fetch(`${url}/a`, { method: 'POST', body: 'text', headers: { x: 'y', 'accept-encoding': 'gzip' } });
  expect(await response.text()).toBe(`POST /a ${agent} content-length=4 x=y text`);
});

it('returns the status, and all values of each header', async () => {
  const fetch = fetchFrom((_, response) => response.writeHead(418, { 'set-cookie': ['a=1', 'b=2'], x: 'y' }).end('teapot'));
  const response = await fetch(url);
  expect([response.status, response.headers.getSetCookie(), response.headers.get('x'), await response.text()]).toEqual([
    418,
    ['a=1', 'b=2'],
    'y',
    'teapot',
  ]);
});

it.each([300, 301, 307, 399])('follows no redirect with the status %i', async (status) => {
  let requests = 0;
  const fetch = fetchFrom((_, response) => {
    requests += 1;
    response.writeHead(status, { location: '/elsewhere' }).end('moved');
  });
  expect(await failureOf(fetch(url))).toMatchObject({
    name: 'OutboundError',
    message: expect.stringContaining(`it responded with ${status}`),
  });
  expect(requests).toBe(1);
});

it('does not wait for the end of a redirect, and ends the connection', async () => {
  let closed: Promise<unknown> | undefined;
  const fetch = fetchFrom((_, response) => {
    closed = once(response, 'close');
    response.writeHead(302, { location: '/elsewhere' }).write('without an end');
  });
  expect(await failureOf(fetch(url))).toMatchObject({ name: 'OutboundError' });
  await closed;
});

it.each([204, 205, 304])('returns no body for the status %i', async (status) => {
  const fetch = fetchFrom((_, response) => response.writeHead(status).end());
  const response = await fetch(url);
  expect([response.status, response.body]).toEqual([status, null]);
});

it('ends the connection of a response that has a body although its status permits none', async () => {
  let closed: Promise<unknown> | undefined;
  const fetch = fetchFrom((_, response) => {
    closed = once(response, 'close');
    response.writeHead(205).write('without an end');
  });
  expect((await fetch(url)).status).toBe(205);
  await closed;
});

it('returns no body of a HEAD request', async () => {
  const fetch = fetchFrom((_, response) => response.writeHead(200, { 'content-length': 7 }).end());
  const response = await fetch(url, { method: 'HEAD' });
  expect([response.body, response.headers.get('content-length')]).toEqual([null, '7']);
});

it('stops when all responses together are larger than the limit', async () => {
  const fetch = fetchFrom((_, response) => response.end('x'.repeat(50)));
  expect((await (await fetch(url)).text()).length).toBe(50);
  expect((await (await fetch(url)).text()).length).toBe(50);
  expect(await failureOf((await fetch(url)).text())).toMatchObject({ message: 'the responses are larger than 100 bytes' });
});

it('reports a body that breaks off', async () => {
  const fetch = fetchFrom((_, response) => {
    response.writeHead(200, { 'content-length': 50 });
    response.write('x', () => response.destroy());
  });
  await expect((await fetch(url)).text()).rejects.toThrow();
});

it('reports a host that is not allowed, and one that cannot be reached, in its own words', async () => {
  expect(await failureOf(fetchFrom(echo, { words: ['public'] })(url))).toMatchObject({
    name: 'OutboundError',
    message: expect.stringContaining('may not connect to 127.0.0.1'),
  });
  const refusing = fetchFrom((request) => request.socket.destroy());
  expect(await failureOf(refusing(url))).toMatchObject({ name: 'OutboundError', cause: expect.any(Error) });
});

it.each(['the limit', 'the caller'])('is aborted by the signal of %s, with its reason', async (whose) => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const isLimit = whose === 'the limit';
  const fetch = fetchFrom(() => controller.abort(reason), isLimit ? { signal: controller.signal } : {});
  expect(await failureOf(fetch(url, isLimit ? {} : { signal: controller.signal }))).toBe(reason);
});
