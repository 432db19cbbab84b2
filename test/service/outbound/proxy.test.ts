/** The HTTP proxy: which host and port it asks for, what its clients are told, and what becomes of broken connections. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { HostNotAllowedError } from '../../../src/service/outbound/guarded-lookup.ts';
import { closer, createProxy, type OpenConnection } from '../../../src/service/outbound/proxy.ts';
import { afterTest } from '../../support/temporary.ts';

async function listening(server: Server): Promise<number> {
  const close = closer(server);
  afterTest(close);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A connection to a server on this machine. */
async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Everything that the proxy answers to these bytes, until it closes the connection. */
async function exchange(open: OpenConnection, bytes: string): Promise<string> {
  const socket = connect(await listening(createProxy(open)), '127.0.0.1');
  socket.write(bytes);
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  // A connection can also end with a reset.
  socket.on('error', () => undefined);
  await once(socket, 'close').catch(() => undefined);
  return text;
}

const refuse: OpenConnection = async (host) => Promise.reject(new HostNotAllowedError(`may not connect to ${host}`));
const fail: OpenConnection = async () => Promise.reject(new Error('ECONNREFUSED 10.0.0.7'));
const tunnel = (target: string) => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`;
const get = (url: string) => `GET ${url} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`;

it.each([
  ['a.test', 443],
  ['a.test:443', 443],
  ['a.test:80', 80],
  ['a.test:8443', 8443],
])('opens a tunnel to %s at port %i', async (target, port) => {
  const opened: unknown[] = [];
  const answer = await exchange(async (...to) => {
    opened.push(to);
    return refuse(...to);
  }, tunnel(target));
  expect([opened, answer.split('\r\n')[0]]).toEqual([[['a.test', port]], 'HTTP/1.1 403 Forbidden']);
});

it.each([
  ['http://a.test/x', 80],
  ['http://a.test:8080/x', 8080],
])('opens a connection for %s at port %i', async (url, port) => {
  const opened: unknown[] = [];
  await exchange(async (...to) => {
    opened.push(to);
    return refuse(...to);
  }, get(url));
  expect(opened).toEqual([['a.test', port]]);
});

it.each([
  ['a tunnel', tunnel('a.test:443'), 'a.test:443'],
  ['a request', get('http://a.test/x'), 'a.test'],
])('says why %s is refused, but not how it failed', async (_, bytes, name) => {
  expect(await exchange(refuse, bytes)).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*may not connect to a\.test\n/);
  const failure = await exchange(fail, bytes);
  expect(failure).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
  expect(failure).toContain(`${name} cannot be reached.\n`);
  expect(failure).not.toContain('10.0.0.7');
});

it('refuses a tunnel without a valid address, and requests that are not for a proxy', async () => {
  expect(await exchange(fail, tunnel('a.test:99999'))).toMatch(/^HTTP\/1\.1 403 [\s\S]*The address of the tunnel is invalid\.\n/);
  for (const url of ['/x', 'https://a.test/']) expect(await exchange(fail, get(url))).toMatch(/^HTTP\/1\.1 400 [\s\S]*This is a proxy\.\n/);
});

it.each([
  ['before its answer, with 502', (socket: Socket) => socket.destroy(), /^HTTP\/1\.1 502 /],
  [
    'in the middle of its answer, by closing the connection',
    (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart', () => socket.destroy()),
    /^HTTP\/1\.1 200 OK\r\n[\s\S]*part$/,
  ],
])('reports a host that breaks off %s', async (_, answer, expected) => {
  const upstream = createServer();
  upstream.on('request', ({ socket }) => answer(socket));
  const port = await listening(upstream);
  expect(await exchange(() => connected(port), get('http://a.test/x'))).toMatch(expected);
});

it('passes everything on through a tunnel, from the first byte, until one side closes it', async () => {
  const host = createTcpServer((socket) => {
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (received.endsWith('bye')) socket.end(received.toUpperCase());
    });
  });
  const port = await listening(host);
  // The first bytes arrive together with the request for the tunnel.
  expect(await exchange(() => connected(port), `${tunnel('a.test:443')}hello, bye`)).toBe(
    'HTTP/1.1 200 Connection established\r\n\r\nHELLO, BYE',
  );
});

it('closes its connections when it is closed', async () => {
  const proxy = createProxy(fail);
  const close = closer(proxy);
  const client = connect(await listening(proxy), '127.0.0.1');
  await Promise.all([once(client, 'connect'), once(proxy, 'connection')]);
  const closed = once(client, 'close');
  await close();
  await closed;
});

it('closes the connection to the host when the client leaves in the middle of an answer', async () => {
  const upstream = createServer((_, response) => void response.write('part'));
  const port = await listening(upstream);
  let toHost: Socket | undefined;
  const proxy = createProxy(async () => {
    toHost = await connected(port);
    return toHost;
  });
  const client = connect(await listening(proxy), '127.0.0.1');
  client.write(get('http://a.test/x'));
  await once(client, 'data');
  const closed = once(toHost as Socket, 'close');
  client.destroy();
  await closed;
});
