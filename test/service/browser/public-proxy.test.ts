import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPublic } from '../../../src/service/addresses.ts';
import { type PublicProxy, startPublicProxy } from '../../../src/service/browser/public-proxy.ts';

describe('a public address', () => {
  it.each(['1.1.1.1', '93.184.216.34', '2606:4700::1111'])('is %s', (address) => expect(isPublic(address)).toBe(true));

  it.each([
    ...['127.0.0.1', '127.8.8.8', '0.0.0.0', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['224.0.0.1', '255.255.255.255', '198.18.0.1', '192.0.2.1'],
    ...['::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', 'fe80::1', 'fc00::1', 'ff02::1', '64:ff9b::7f00:1', '2002:7f00:1::'],
    ...['::127.0.0.1', '::7f00:1', '', 'localhost', '127.0.0.1.', '0x7f.1.2', '1.1.1.1/32'],
  ])('is not "%s"', (address) => expect(isPublic(address)).toBe(false));
});

describe('the proxy', () => {
  const insideRequests: string[] = [];
  const server = createServer((incoming, outgoing) => {
    insideRequests.push(`${incoming.method} ${incoming.headers.host}${incoming.url}`);
    outgoing.end('hello');
  });
  let port: number;
  let proxy: PublicProxy;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
    const addresses: Record<string, string[]> = {
      'public.test': ['127.0.0.1'],
      'mixed.test': ['1.1.1.1', '10.0.0.1'],
      'inside.test': ['10.0.0.1'],
    };
    proxy = await startPublicProxy({
      resolve: async (name) => addresses[name] ?? [],
      // For this test, this machine counts as public.
      isAllowed: (address) => address === '127.0.0.1' || isPublic(address),
    });
  });
  afterAll(async () => {
    await proxy.close();
    server.close();
  });

  /** Sends a request like a browser to a proxy: with the whole URL in the first line. */
  const get = (path: string) =>
    new Promise<[number | undefined, string]>((resolve, reject) => {
      const { hostname, port } = new URL(proxy.url);
      const clientRequest = request(
        { hostname, port, path, headers: { host: URL.canParse(path) ? new URL(path).host : 'proxy' } },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
          });
          answer.on('end', () => resolve([answer.statusCode, text]));
        },
      );
      clientRequest.on('error', reject).end();
    });
  const tunnel = (target: string, payload = '') =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1', () =>
        socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`),
      );
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (payload !== '' && text.endsWith('\r\n\r\n')) socket.end(payload);
      });
      socket.on('end', () => resolve(text)).on('error', reject);
    });

  it('forwards to the address that it checked, with the requested host name', async () => {
    expect(await get(`http://public.test:${port}/a?b=c`)).toEqual([200, 'hello']);
    expect(insideRequests.at(-1)).toBe(`GET public.test:${port}/a?b=c`);
    expect(await tunnel(`public.test:${port}`, 'GET /t HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200 Connection established[\s\S]*hello$/,
    );
  });

  it('refuses names with private addresses, even if only one of them is private', async () => {
    const before = insideRequests.length;
    for (const name of ['inside.test', 'mixed.test']) {
      expect((await get(`http://${name}:${port}/`))[0]).toBe(403);
      expect(await tunnel(`${name}:443`)).toMatch(/^HTTP\/1\.1 403 /);
    }
    expect((await get('http://unknown.test/'))[0]).toBe(403);
    expect(await tunnel('not a host')).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect([...proxy.refusedHosts]).toEqual([`inside.test:${port}`, 'inside.test', `mixed.test:${port}`, 'mixed.test']);
    expect(insideRequests).toHaveLength(before);
  });

  it('is not a server itself', async () => {
    expect((await get('/'))[0]).toBe(400);
    expect((await get('ftp://public.test/'))[0]).toBe(400);
  });
});
