import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { backoff } from '../../src/base/backoff.ts';
import { DryRunClient, DryRunStop } from '../../src/client/dry-run.ts';
import { retryPolicy } from '../../src/client/retry-policy.ts';
import { answer, json, noAnswer, partial, raw } from '../faults/raw-server.ts';
import { failureOf, newClient, scriptedServer } from './harness.ts';

const run = { id: 'r1', status: 'running' };
const getRun = { params: { run_id: 'r1' } };
const start = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };
const creation = json(201, { run });
const replay = json(201, { run }, { 'idempotency-replayed': 'true' });
const busyAnswer = json(500, { error: 'internal', message: 'Sorry.' });

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe('a change that was refused before anything was carried out', () => {
  it('because the service stores no more keys is not retried, and its outcome is known', async () => {
    const server = (await scriptedServer()).always(json(503, { error: 'idempotency_store_full', message: 'Try again later.' }));
    const { client, clock } = newClient(server.url);
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 8, code: 'idempotency_store_full', status: 503 });
    expect(server.requests).toHaveLength(1);
    expect(clock.waitTimes).toEqual([]);
  });

  it('is of unknown outcome when an attempt before it timed out at the service', async () => {
    const server = await scriptedServer(json(408, { error: 'request_timeout' }), json(403, { error: 'forbidden', message: 'No.' }));
    const { client } = newClient(server.url);
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 13, code: 'outcome_unknown' });
    expect(server.requests).toHaveLength(2);
  });
});

describe('a read', () => {
  it.each([
    ['500', busyAnswer],
    ['502 without a body', answer(502, '')],
    ['503', json(503, { error: 'unavailable' })],
    ['408', json(408, { error: 'request_timeout' })],
    ['a reset', noAnswer('reset')],
    ['a connection closed before the answer', noAnswer('close')],
    ['half a head', raw('HTTP/1.1 200 OK\r\ncontent-', 'close')],
    ['half a body', partial(200, 100, '{"run":', 'close')],
    [
      'half a chunked body',
      raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n7\r\n{"run":\r\n', 'close'),
    ],
    ['half a body without a length', raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"run":', 'close')],
  ])('is retried after %s', async (_, step) => {
    const server = await scriptedServer(step, json(200, { run, pending_human_request: null }));
    const { client, clock } = newClient(server.url);
    expect(await client.call('getRun', getRun)).toMatchObject({ run });
    expect(server.requests).toHaveLength(2);
    expect(server.header('idempotency-key')).toEqual([undefined, undefined]);
    expect(clock.waitTimes).toEqual([250]);
  });

  it("fails after three retries with the service's error, with growing waits", async () => {
    const server = (await scriptedServer()).always(busyAnswer);
    const { client, clock } = newClient(server.url);
    const error = await failureOf(client.call('getRun', getRun));
    expect(error).toMatchObject({
      exit: 8,
      code: 'internal',
      message: 'Sorry.',
      status: 500,
      details: { method: 'GET', path: '/v2/runs/r1' },
    });
    expect(server.requests).toHaveLength(4);
    expect(clock.waitTimes).toEqual([250, 500, 1000]);
  });

  it('exits with 8 and says what to do when connections are refused', async () => {
    const port = await closedPort();
    const { client, clock } = newClient(`http://127.0.0.1:${port}`);
    const error = await failureOf(client.call('getRun', getRun));
    expect(error).toMatchObject({
      exit: 8,
      code: 'service_unavailable',
      message: `Could not reach http://127.0.0.1:${port}: the connection was refused.`,
    });
    expect(error.hint).toContain('aops local up');
    expect(clock.waitTimes).toHaveLength(3);
  });

  it.each([400, 403, 404, 405, 409, 413, 422])('is not retried after %i', async (status) => {
    const server = await scriptedServer(json(status, { error: 'no', message: 'No.' }));
    const { client } = newClient(server.url);
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ status, code: 'no', message: 'No.' });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a status below 100', 'HTTP/1.1 099 No\r\n\r\n'],
    ['a change of protocols that was not requested', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n'],
  ])('is not retried after an answer that is not valid HTTP: %s', async (_, answer) => {
    const server = await scriptedServer(raw(answer, 'close'));
    const { client } = newClient(server.url);
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 8, message: expect.stringContaining('not valid HTTP') });
    expect(server.requests).toHaveLength(1);
  });

  it('is not retried after a failed TLS handshake', async () => {
    const server = await scriptedServer();
    server.onConnection = (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    const { client } = newClient(server.url.replace('http:', 'https:'));
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({
      exit: 8,
      message: expect.stringMatching(/TLS connection could not be made/),
    });
    expect(server.connections).toBe(1);
  });
});

describe('a change', () => {
  it('has the same key and bytes in all attempts', async () => {
    const server = await scriptedServer(busyAnswer, noAnswer('reset'), noAnswer('close'), creation);
    const { client, events } = newClient(server.url);
    expect(await client.call('startRun', start)).toEqual({ run });
    const keys = new Set(server.header('idempotency-key'));
    expect(keys.size).toBe(1);
    expect([...keys][0]).toMatch(/^aops-[0-9a-f-]{36}$/);
    expect(new Set(server.requests.map(({ body }) => body.toString()))).toEqual(new Set(['{"agent_id":"a1"}']));
    expect(events.filter(({ type }) => type === 'retry')).toHaveLength(3);
  });

  it('that was carried out before the connection broke is reported once, from the replayed result', async () => {
    const server = await scriptedServer(noAnswer('reset'), replay);
    const { client, events } = newClient(server.url);
    expect(await client.call('startRun', start)).toEqual({ run });
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
    expect(events.some(({ type }) => type === 'replayed')).toBe(false);
  });

  it('whose answer is cut off requests it again with the same key', async () => {
    const server = await scriptedServer(answer(201, '{"run":{"id"', { 'content-type': 'application/json' }), replay);
    const { client } = newClient(server.url);
    expect(await client.call('startRun', start)).toEqual({ run });
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
  });

  it.each([
    ['500 every time', busyAnswer, 'the service answered 500 to every attempt'],
    [
      '503 disk_full every time',
      json(503, { error: 'disk_full', message: 'The disk of this service is full.' }),
      'the service answered 503 to every attempt, disk_full: The disk of this service is full.',
    ],
    ['a reset every time', noAnswer('reset'), 'the connection'],
    ['a cut answer every time', answer(201, '{"run"', { 'content-type': 'application/json' }), 'not complete JSON'],
    ['an attempt in progress every time', json(409, { error: 'idempotency_in_progress' }), 'still in progress'],
  ])('exits with 13 and names the key when it gets %s', async (_, step, reason) => {
    const server = (await scriptedServer()).always(step);
    const { client } = newClient(server.url);
    const error = await failureOf(client.call('startRun', start));
    const key = server.header('idempotency-key')[0];
    expect(error).toMatchObject({
      exit: 13,
      code: 'outcome_unknown',
      message: expect.stringContaining(reason),
      details: { idempotency_key: key },
    });
    expect(error.hint).toContain(`--idempotency-key ${key}`);
    expect(server.requests).toHaveLength(4);
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
  });

  it('that may have been carried out is never reported as refused because of a later, unrelated error', async () => {
    for (const last of [
      json(401, { error: 'unauthorized' }),
      json(403, { error: 'forbidden' }),
      json(429, { error: 'rate_limited' }, { 'retry-after': '600' }),
      answer(302, '', { location: 'https://elsewhere.example/' }),
    ]) {
      for (const first of [
        noAnswer('reset'),
        busyAnswer,
        json(409, { error: 'idempotency_in_progress' }),
        answer(201, '{', { 'content-type': 'application/json' }),
      ]) {
        const server = await scriptedServer(first, last);
        const { client } = newClient(server.url);
        expect(await failureOf(client.call('startRun', start))).toMatchObject({
          exit: 13,
          details: { idempotency_key: server.header('idempotency-key')[0] },
        });
      }
    }
  });

  it('that may have been carried out stays unknown when the service is unreachable afterwards', async () => {
    for (const first of [busyAnswer, answer(201, '{', { 'content-type': 'application/json' })]) {
      const server = await scriptedServer(first);
      const { client } = newClient(server.url, {
        onEvent: (event) => event.type === 'retry' && event.attempt === 1 && void server.close(),
        clock: {
          now: () => 0,
          sleep: async (ms, signal) =>
            ms < 30_000 ? undefined : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
        },
      });
      expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 13 });
    }
  });

  it('exits with 8 when it certainly never arrived', async () => {
    const { client } = newClient(`http://127.0.0.1:${await closedPort()}`);
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 8, details: { idempotency_key: expect.any(String) } });
  });

  it('accepts a stored refusal of its own earlier attempt', async () => {
    const server = await scriptedServer(
      noAnswer('reset'),
      json(404, { error: 'agent_not_found', message: 'No such agent.' }, { 'idempotency-replayed': 'true' }),
    );
    const { client } = newClient(server.url);
    expect(await failureOf(client.call('startRun', start))).toMatchObject({
      exit: 3,
      code: 'agent_not_found',
      hint: 'See the agents with `aops agents list`.',
    });
  });

  it('waits for an attempt in progress', async () => {
    const server = await scriptedServer(
      json(409, { error: 'idempotency_in_progress' }),
      json(409, { error: 'idempotency_in_progress' }, { 'retry-after': '2' }),
      replay,
    );
    const { client, clock } = newClient(server.url);
    expect(await client.call('startRun', start)).toEqual({ run });
    expect(clock.waitTimes).toEqual([250, 2100]);
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
  });

  it('takes a 409 after a lost answer for its own first attempt, and any other 409 for a conflict', async () => {
    const conflict = json(409, { error: 'conflict', message: 'It has ended.' });
    const lossyServer = await scriptedServer(noAnswer('reset'), conflict, replay);
    expect(await newClient(lossyServer.url).client.call('startRun', start)).toEqual({ run });
    const plain = await scriptedServer(conflict);
    expect(await failureOf(newClient(plain.url).client.call('startRun', start))).toMatchObject({ exit: 6, message: 'It has ended.' });
    expect(plain.requests).toHaveLength(1);
  });

  it("uses the user's key for the first change, derives the others from it, and reports that it was used before", async () => {
    const server = await scriptedServer(replay, creation);
    const { client, events } = newClient(server.url, { idempotencyKey: 'mine' });
    await client.call('startRun', start);
    await client.call('startRun', start);
    const [first, second] = server.header('idempotency-key');
    expect(first).toBe('mine');
    expect(second).toMatch(/^mine\.[0-9a-f]{24}$/);
    expect(events.filter(({ type }) => type === 'replayed')).toEqual([
      { type: 'replayed', method: 'POST', path: expect.stringContaining('/runs') },
    ]);
  });

  it.each(['', 'a b', 'ä', 'a\r\nb', 'a\0', 'k'.repeat(256)])('rejects the key %j without repeating it', (key) => {
    expect(() => newClient('http://127.0.0.1:1', { idempotencyKey: key })).toThrow('must be 1 to 255 visible ASCII characters');
  });

  it('reports an answer that is not an object, since the change was carried out', async () => {
    for (const body of ['null', '[]', '"ok"']) {
      const server = await scriptedServer(answer(201, body, { 'content-type': 'application/json' }));
      const { client } = newClient(server.url);
      expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 1, code: 'unusable_answer', details: { status: 201 } });
      expect(server.requests).toHaveLength(1);
    }
    const server = await scriptedServer(answer(204, ''));
    expect(await failureOf(newClient(server.url).client.call('startRun', start))).toMatchObject({ code: 'unusable_answer' });
  });
});

describe('a stored refusal', () => {
  const storedAnswer = (status: number) => json(status, { error: 'refused' }, { 'idempotency-replayed': 'true' });

  it.each([429, 401])('%i that is replayed gets exactly one new key', async (status) => {
    const server = await scriptedServer(storedAnswer(status), creation);
    const { client } = newClient(server.url);
    expect(await client.call('startRun', start)).toEqual({ run });
    expect(new Set(server.header('idempotency-key')).size).toBe(2);
    const hopelessServer = (await scriptedServer()).always(storedAnswer(status));
    expect(await failureOf(newClient(hopelessServer.url).client.call('startRun', start))).toMatchObject({ status });
    expect(hopelessServer.requests).toHaveLength(2);
    expect(new Set(hopelessServer.header('idempotency-key')).size).toBe(2);
  });

  it('does not make the outcome under the old key unknown', async () => {
    const server = await scriptedServer(noAnswer('reset'), storedAnswer(429), json(409, { error: 'conflict', message: 'It has ended.' }));
    expect(await failureOf(newClient(server.url).client.call('startRun', start))).toMatchObject({ exit: 6 });
  });
});

describe('a dry run', () => {
  it('reads normally and stops at the first change, without showing a secret', async () => {
    const server = await scriptedServer(json(200, { run }));
    const { client } = newClient(server.url, { idempotencyKey: 'mine' }, (options) => new DryRunClient(options));
    await client.call('getRun', getRun);
    const stop = await failureOf<DryRunStop>(client.call('startRun', start));
    expect(stop).toBeInstanceOf(DryRunStop);
    expect(stop.request).toEqual({
      method: 'POST',
      url: `${server.url}/v2/teams/t1/runs`,
      headers: {
        accept: 'application/json',
        'user-agent': 'aops/test',
        'content-type': 'application/json',
        authorization: 'Bearer ***',
        'idempotency-key': 'mine',
      },
      body: { agent_id: 'a1' },
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe('back-off', () => {
  it('is random below a ceiling that doubles up to eight seconds, and never zero', () => {
    expect([0, 1, 2, 3, 4, 5].map((retry) => backoff(retry, () => 1))).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
    expect(backoff(5, () => 0)).toBe(25);
    expect(retryPolicy.retries).toBe(3);
  });
});
