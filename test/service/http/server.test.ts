/** The server below the pipeline: where it listens, what it accepts, and what it writes to the log and the metrics. */
import { Server } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import type { LogEntry } from '../../../src/service/service.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { afterTest } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { manyTurns, nextTurn, serviceCommits, syncsFrom } from '../helpers/disk.ts';
import { auth, dial, raw, receiveAll, statusOf } from '../helpers/raw.ts';
import { Gate } from '../helpers/runtime.ts';
import { config, startApi } from '../helpers/service.ts';

describe('an address where the service cannot listen', () => {
  /** Makes every attempt to listen fail as the operating system does. */
  function failToListen(code: string): Error {
    const failure = Object.assign(new Error(`listen ${code}`), { code });
    const spy = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
      setImmediate(() => this.emit('error', failure));
      return this;
    });
    afterTest(async () => spy.mockRestore());
    return failure;
  }

  it.each([
    ['EADDRINUSE', 'port_in_use', /^Port 4010 on 127\.0\.0\.1 is in use\.$/, /--port, or 0 for any free port/],
    ['EACCES', 'cannot_listen', /not allowed to listen on port 4010 of 127\.0\.0\.1/, /1024 or higher with --port/],
    ['EADDRNOTAVAIL', 'cannot_listen', /cannot listen on 127\.0\.0\.1: this machine has no such address/, /another --host/],
    ['ENOTFOUND', 'cannot_listen', /this machine has no such address/, /another --host/],
    ['EAI_AGAIN', 'cannot_listen', /this machine has no such address/, /another --host/],
  ])('because of %s is reported as %s, with a way out', async (code, error, message, hint) => {
    failToListen(code);
    await expect(startApi({ port: 4010 })).rejects.toMatchObject({
      code: error,
      exit: 2,
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    });
  });

  it('for another reason is reported with that reason', async () => {
    const failure = failToListen('EMFILE');
    const error = (await startApi().catch((reason: unknown) => reason)) as Error;
    expect([error, error.cause]).toContain(failure);
  });
});

it('continues if a connection cannot be accepted', async () => {
  const entries: LogEntry[] = [];
  const servers = new Set<Server>();
  const { listen } = Server.prototype;
  const spy = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...values: unknown[]) {
    servers.add(this);
    return listen.apply(this, values as never);
  });
  afterTest(async () => spy.mockRestore());
  const api = await startApi({ log: (entry) => entries.push(entry) });
  for (const server of servers) server.emit('error', Object.assign(new Error('accept ENFILE'), { code: 'ENFILE' }));
  expect((await api.call('listAgents')).status).toBe(200);
  expect(entries.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual(['a connection could not be accepted']);
});

it('reads all headers, however many there are', async () => {
  const api = await startApi();
  const many = 'a:b\r\n'.repeat(2_500);
  const answer = await raw(api, `GET /v2/local/credential HTTP/1.1\r\n${many}${auth(api)}Connection: close\r\n\r\n`);
  expect(statusOf(answer)).toBe(200);
});

itNeeding(needsSqlite, 'writes the level of a request to the log according to what it is for, and how it ended', async () => {
  const entries: LogEntry[] = [];
  const commits = serviceCommits();
  const api = await startApi({ log: (entry) => entries.push(entry), logLevel: 'debug' });
  const run = await api.run();
  await api.until(run.id, 'completed');
  await api.call('getRun', { params: { run_id: 'none' } });
  await api.call('listRuns');
  await api.call('listRuns', { query: { limit: 'many' } });
  await api.call('listRunMessages', { params: { run_id: run.id } });
  for (const path of ['/healthz', '/readyz', '/metrics']) await api.send('GET', path);
  await api.send('POST', '/healthz');
  await api.call('listAgents');
  commits.failure = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  await api.call('createAgent', { body: { name: 'lost' } });
  commits.failure = undefined;
  const levels = entries
    .filter(({ message }) => message === 'request')
    .map(({ level, fields }) => `${level} ${String(fields?.operation)} ${String(fields?.status)}`);
  expect([...new Set(levels)].sort()).toEqual([
    'debug getRun 200',
    'debug healthz 200',
    'debug listRunMessages 200',
    'debug listRuns 200',
    'debug metrics 200',
    'debug readyz 200',
    'error createAgent 503',
    'info createAgent 201',
    'info getRun 404',
    'info listAgents 200',
    'info listRuns 400',
    'info null 405',
    'info startRun 201',
  ]);
  // Only what the service could not do has a reason in the log.
  expect(entries.filter(({ message }) => message === 'a request failed')).toHaveLength(1);
});

it('writes an unexpected failure to the log as an error, with the method of the request', async () => {
  const entries: LogEntry[] = [];
  const validate = () => {
    throw new Error('broken');
  };
  const runtime = { name: 'test', validate, countSteps: () => 0, advance: async () => ({ status: 'completed' as const }) };
  const api = await startApi({ runtimes: [runtime], log: (entry) => entries.push(entry) });
  await api.call('createAgent', { body: { name: 'a', build: { name: 'b', config: config('done') } } });
  await api.call('listAgents');
  const requests = entries.filter(({ message }) => message === 'request');
  expect(requests.map(({ level, fields }) => [level, fields?.method, fields?.status])).toEqual([
    ['error', 'POST', 500],
    ['info', 'GET', 200],
  ]);
});

it('reports the length of short and of long texts', async () => {
  const api = await startApi();
  const lengths: number[] = [];
  for (const path of ['/healthz', '/v2/openapi.json']) {
    const { headers, text } = await api.send('GET', path);
    expect(Number(headers['content-length'])).toBe(Buffer.byteLength(text));
    lengths.push(text.length);
  }
  expect(lengths).toEqual([expect.any(Number), expect.toSatisfy((length: number) => length > 64 * 1_024)]);
});

it('counts requests that are not HTTP, and those of no route', async () => {
  const api = await startApi();
  await raw(api, 'nonsense\r\n\r\n');
  await raw(api, `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`);
  await api.send('GET', '/v2/nowhere');
  const { text } = await api.send('GET', '/metrics');
  for (const status of [400, 431, 404]) expect(text).toContain(`aops_http_requests_total{operation="none",status="${status}"} 1`);
});

it('measures an event stream only until it begins', async () => {
  const clock = new ManualClock();
  const entries: LogEntry[] = [];
  const api = await startApi({ clock, log: (entry) => entries.push(entry), logLevel: 'debug' });
  const socket = new AbortController();
  const stream = await fetch(`${api.service.url}/v2/teams/${api.service.teamId}/events`, {
    headers: { authorization: `Bearer ${api.service.token}` },
    signal: socket.signal,
  });
  expect(stream.status).toBe(200);
  clock.advance(5_000);
  socket.abort();
  const isLogged = () => entries.some(({ fields }) => fields?.operation === 'streamTeamEvents');
  while (!isLogged()) await nextTurn();
  expect(entries.find(({ fields }) => fields?.operation === 'streamTeamEvents')?.fields).toMatchObject({ ms: 0, status: 200 });
});

itNeeding(needsSqlite, 'measures a request in milliseconds, from its first header to its response', async () => {
  const clock = new ManualClock();
  const entries: LogEntry[] = [];
  const api = await startApi({ clock, log: (entry) => entries.push(entry), logLevel: 'info' });
  const goOn = new Gate();
  const { arrival } = await syncsFrom({ ...api, text: 'a slow agent' }, () => goOn.opened);
  const createPromise = api.call('createAgent', { body: { name: 'a slow agent' } });
  await arrival;
  clock.advance(1_234);
  goOn.open();
  await createPromise;
  expect(entries.find(({ fields }) => fields?.operation === 'createAgent')?.fields).toMatchObject({ ms: 1_234 });
  const { text } = await api.send('GET', '/metrics');
  expect(text).toContain('aops_http_request_duration_seconds_sum{operation="createAgent"} 1.234');
});

itNeeding(needsSqlite, 'logs why a request failed even if its client has left', async () => {
  const entries: LogEntry[] = [];
  const api = await startApi({ log: (entry) => entries.push(entry), logLevel: 'info' });
  const goOn = new Gate();
  const { arrival, restore } = await syncsFrom({ ...api, text: 'abandoned' }, async () => {
    await goOn.opened;
    throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
  });
  const socket = await dial(api);
  const body = '{"name":"abandoned"}';
  const head = `POST /v2/teams/${api.service.teamId}/agents HTTP/1.1\r\n${auth(api)}Content-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  await arrival;
  socket.destroy();
  await manyTurns();
  goOn.open();
  const isLogged = () => entries.some(({ fields }) => fields?.operation === 'createAgent');
  while (!isLogged()) await nextTurn();
  restore();
  expect(entries.map(({ level, message }) => `${level} ${message}`)).toContain('error a request failed');
});

describe('a connection', () => {
  const health = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n';

  it('that was used before gets a response to input that is not HTTP, and is closed', async () => {
    const api = await startApi();
    const socket = await dial(api);
    const text = receiveAll(socket);
    const first = new Promise<void>((resolve) => socket.once('data', () => resolve()));
    socket.write(`${health}\r\n`);
    await first;
    socket.write('nonsense\r\n\r\n');
    expect([...(await text).matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '400']);
  });

  it('whose request is answered while the service closes is closed, which the response announces', async () => {
    const api = await startApi();
    const socket = await dial(api);
    const text = receiveAll(socket);
    const continuePromise = new Promise<void>((resolve) => socket.once('data', () => resolve()));
    const head = `POST /v2/teams/${api.service.teamId}/agents HTTP/1.1\r\n${auth(api)}Content-Type: application/json\r\n`;
    socket.write(`${head}Expect: 100-continue\r\nContent-Length: 12\r\n\r\n`);
    await continuePromise;
    const closePromise = api.service.close();
    await manyTurns();
    socket.write('{"name":"A"}');
    await closePromise;
    expect(await text).toMatch(/HTTP\/1.1 201 Created\r\n(.+\r\n)*Connection: close\r\n/);
  });
});

describe('a request target', () => {
  it.each([
    ['GET http://127.0.0.1', 'GET /'],
    ['GET http://127.0.0.1?code=x', 'GET /?code=x'],
    ['GET HTTPS://127.0.0.1/healthz', 'GET /healthz'],
  ])('%s is %s', async (absolute, relative) => {
    const api = await startApi();
    const send = async (line: string) => statusOf(await raw(api, `${line} HTTP/1.1\r\n${auth(api)}Connection: close\r\n\r\n`));
    const status = await send(relative);
    expect([await send(absolute), status]).toEqual([status, 200]);
  });

  it('that is no path is not found, and a question mark can be part of a value', async () => {
    const api = await startApi();
    const options = await raw(api, `OPTIONS * HTTP/1.1\r\n${auth(api)}Connection: close\r\n\r\n`);
    expect(statusOf(options)).toBe(404);
    const { status, body } = await api.send('GET', '/v2/local/teams?limit=1?2');
    expect([status, body]).toMatchObject([400, { details: [{ path: 'limit' }] }]);
  });
});
