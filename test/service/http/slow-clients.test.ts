/** Clients that are slow, half there or many. The service gives each its time, and is there for the others meanwhile. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ConnectionShares } from '../../../src/service/http/connection-shares.ts';
import { runPromptly } from '../../support/promptly.ts';
import { auth, bodyOf, dial, raw, receiveAll, statusOf } from '../helpers/raw.ts';
import { Gate } from '../helpers/runtime.ts';
import { type Api, startApi } from '../helpers/service.ts';

// Shorter ones would cut off the tests' own requests on a loaded machine.
const quickLimits = {
  headersMilliseconds: 600,
  bodyMilliseconds: 600,
  idleMilliseconds: 5_000,
  lingerMilliseconds: 50,
  checkMilliseconds: 20,
};
const agents = (api: Api) => `/v2/teams/${api.service.teamId}/agents`;

async function expectResponsive(api: Api): Promise<void> {
  expect((await runPromptly(() => api.send('GET', agents(api)), 1_000)).status).toBe(200);
}

/** Sends a character at a time for as long as the connection takes them. */
function drip(socket: Socket, text: string): void {
  let offset = 0;
  const timer = setInterval(() => socket.write(text[offset++ % text.length] as string), 20);
  socket.once('close', () => clearInterval(timer));
}

describe('a slow client', () => {
  it('that sends its headers a character at a time is cut off with 408', async () => {
    const api = await startApi({ httpLimits: quickLimits });
    const socket = await dial(api);
    const answer = receiveAll(socket);
    socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n');
    drip(socket, 'X-Slow: 1\r\n');
    await expectResponsive(api);
    const text = await answer;
    expect(statusOf(text)).toBe(408);
    expect(bodyOf(text)).toMatchObject({ error: 'request_timeout' });
    expect(text).toMatch(/RateLimit-Remaining: \d+/);
  });

  it('that sends its body a character at a time is cut off with 408, and nothing of it is stored', async () => {
    const api = await startApi({ httpLimits: quickLimits });
    const socket = await dial(api);
    const answer = receiveAll(socket);
    const head = `POST ${agents(api)} HTTP/1.1\r\n${auth(api)}Content-Type: application/json\r\nIdempotency-Key: slow\r\n`;
    socket.write(`${head}Content-Length: 100000\r\n\r\n`);
    drip(socket, ' ');
    await expectResponsive(api);
    const text = await answer;
    expect(statusOf(text)).toBe(408);
    expect(text).toMatch(/Connection: close/i);
    const retry = await api.send('POST', agents(api), {
      headers: { 'content-type': 'application/json', 'idempotency-key': 'slow' },
      body: '{"name":"A"}',
    });
    expect([retry.status, retry.headers['idempotency-replayed']]).toEqual([201, undefined]);
  });

  it('that sends nothing, or stops halfway, loses its connection', async () => {
    const api = await startApi({ httpLimits: quickLimits });
    const silentReply = receiveAll(await dial(api));
    const halfSocket = await dial(api);
    halfSocket.write('GET /healthz HT');
    const halfAnswer = receiveAll(halfSocket);
    await expectResponsive(api);
    expect(statusOf(await silentReply)).toBe(408);
    expect(statusOf(await halfAnswer)).toBe(408);
  });

  it('that stops reading loses its connection', async () => {
    // The file is prepared without a limit: on a loaded machine, its upload can pause for longer than this test wants to wait.
    const preparedApi = await startApi();
    const { dataDirectory } = preparedApi;
    const { sandbox_id } = await preparedApi.ok('createSandbox');
    const upload = await preparedApi.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'a' } });
    const size = 32 * 1024 * 1024;
    expect((await preparedApi.send('PUT', upload.upload_url, { anonymous: true, body: Buffer.alloc(size) })).status).toBe(201);
    const { run } = await preparedApi.ok('startRun', { body: { agent_id: await preparedApi.agent(), sandbox_id } });
    const { data } = await preparedApi.ok('getRunSandboxFileContent', { params: { run_id: run.id }, query: { path: 'a' } });
    await preparedApi.service.close();

    const cutOff = new Gate();
    const api = await startApi({
      dataDirectory,
      httpLimits: { ...quickLimits, idleMilliseconds: 1_000 },
      log: ({ message }) => message === 'a response was cut off' && cutOff.open(),
    });
    const socket = await dial(api);
    socket.pause();
    socket.write(`GET ${new URL(data.download_url as string).pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await new Promise<void>((resolve) => socket.once('readable', () => resolve()));
    // What is in the buffers of the system arrives still; the rest does not.
    await cutOff.opened;
    expect((await receiveAll(socket)).length).toBeLessThan(size);
  });
});

describe('a half-open connection', () => {
  it('that ends within the headers or the body gets a response or is dropped, and affects no other client', async () => {
    const lines: string[] = [];
    const api = await startApi({ httpLimits: quickLimits, log: (entry) => lines.push(`${entry.level} ${entry.message}`) });
    const inHeaders = await dial(api);
    const answer = receiveAll(inHeaders);
    inHeaders.end('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n');
    expect(statusOf(await answer)).toBe(400);
    const inBody = await dial(api);
    const droppedReply = receiveAll(inBody);
    inBody.end(`POST ${agents(api)} HTTP/1.1\r\n${auth(api)}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
    await droppedReply;
    await expectResponsive(api);
    expect(lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });
});

describe('many connections', () => {
  it('that are idle do not delay other clients, and are closed', async () => {
    const api = await startApi({ httpLimits: { ...quickLimits, headersMilliseconds: 1_500 } });
    const idle = await Promise.all(Array.from({ length: 1_000 }, () => dial(api)));
    const answers = idle.map(receiveAll);
    await expectResponsive(api);
    const statuses = (await Promise.all(answers)).map(statusOf);
    expect(new Set(statuses)).toEqual(new Set([408]));
    await expectResponsive(api);
  });

  it('are refused above the limit until one is free', async () => {
    const api = await startApi({ httpLimits: { connections: 3 } });
    const heldSockets = await Promise.all([dial(api), dial(api), dial(api)]);
    expect(await raw(api, 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n')).toBe('');
    for (const socket of heldSockets) {
      const closing = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      socket.destroy();
      await closing;
    }
    let answer = '';
    // The service hears of it a moment later.
    while (answer === '') answer = await raw(api, 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    expect(statusOf(answer)).toBe(200);
  });

  it('of one address leave some for other addresses', async () => {
    const health = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n';
    const api = await startApi({ httpLimits: { connectionsPerAddress: 3 }, trustedProxies: ['127.0.0.4'] });
    const statusFrom = async (address: string): Promise<number> => {
      const socket = await dial(api, address);
      const answer = receiveAll(socket);
      socket.write(health);
      return statusOf(await answer);
    };
    // Any address of 127.0.0.0/8 is this machine's; proxies on it connect from the first.
    const heldSockets = await Promise.all(['127.0.0.2', '127.0.0.2', '127.0.0.2'].map((address) => dial(api, address)));
    // The service knows of them when it has answered on one that came after them.
    expect(await statusFrom('127.0.0.3')).toBe(200);
    expect(await statusFrom('127.0.0.2')).toBeNaN();
    await Promise.all(['127.0.0.1', '127.0.0.4'].flatMap((address) => Array.from({ length: 5 }, () => dial(api, address))));
    for (const address of ['127.0.0.1', '127.0.0.3', '127.0.0.4']) expect(await statusFrom(address)).toBe(200);
    heldSockets[0]?.destroy();
    // The service hears of it a moment later.
    let status = Number.NaN;
    while (Number.isNaN(status)) status = await statusFrom('127.0.0.2');
    expect(status).toBe(200);
  });
});

describe('a share of connections', () => {
  it('belongs to an IPv6 network, or to an IPv4 address in any notation', () => {
    const shares = new ConnectionShares(2, () => false);
    const refusals: string[] = [];
    const sockets = [
      '2001:db8::1',
      '2001:db8:0:0:ffff::2',
      '2001:db8::3',
      '2001:db8:0:1::1',
      '192.0.2.1',
      '::ffff:192.0.2.1',
      '192.0.2.1',
    ].map((remoteAddress) => Object.assign(new EventEmitter(), { remoteAddress, destroy: () => refusals.push(remoteAddress) }));
    for (const socket of sockets) shares.admit(socket as unknown as Socket);
    expect(refusals).toEqual(['2001:db8::3', '192.0.2.1']);
    sockets[0]?.emit('close');
    shares.admit(sockets[2] as unknown as Socket);
    expect(refusals).toHaveLength(2);
  });

  it('is not limited for a proxy, which connects for many', () => {
    const shares = new ConnectionShares(2, (address) => address === '192.0.2.1');
    const refusals: string[] = [];
    for (const remoteAddress of ['192.0.2.1', '192.0.2.2'])
      for (let count = 0; count < 3; count++)
        shares.admit(
          Object.assign(new EventEmitter(), { remoteAddress, destroy: () => refusals.push(remoteAddress) }) as unknown as Socket,
        );
    expect(refusals).toEqual(['192.0.2.2']);
  });

  it('is one connection larger when one of several closes', () => {
    const shares = new ConnectionShares(2, () => false);
    let refused = 0;
    const admit = (): EventEmitter => {
      const socket = Object.assign(new EventEmitter(), { remoteAddress: '192.0.2.1', destroy: () => (refused += 1) });
      shares.admit(socket as unknown as Socket);
      return socket;
    };
    const first = admit();
    admit();
    first.emit('close');
    admit();
    expect(refused).toBe(0);
    admit();
    expect(refused).toBe(1);
  });
});
