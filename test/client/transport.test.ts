import { describe, expect, it } from 'vitest';
import { AopsError, exitCodes } from '../../src/base/errors.ts';
import { failure } from '../../src/client/transport.ts';
import { answer, json, noAnswer, partial, type RawServer, raw, type Step } from '../faults/raw-server.ts';
import { failureOf, newClient, scriptedServer } from './harness.ts';

const getRun = { params: { run_id: 'r1' } };
const start = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };
const success = json(200, { run: { id: 'r1' } });

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('%i is an error that names the origin, and the request goes nowhere else', async (status) => {
    const otherServer = await scriptedServer(success);
    const server = await scriptedServer(answer(status, '', { location: `${otherServer.url}/v2/runs/r1?secret=1` }));
    const { client } = newClient(server.url);
    const error = await failureOf(client.call('startRun', start));
    expect(error).toMatchObject({ code: 'redirected', exit: 1, details: { status } });
    expect(error.message).toContain(otherServer.url);
    expect(error.message).not.toContain('secret');
    expect([server.requests.length, otherServer.connections]).toEqual([1, 0]);
  });
});

describe('a failed connection', () => {
  it.each([
    ['ETIMEDOUT', 'the connection timed out'],
    ['EPERM', 'the system does not permit the connection'],
    ['EMFILE', 'this process may not open more connections or files (`ulimit -n`)'],
    ['EOTHER', 'the connection failed (EOTHER)'],
    [undefined, 'the connection failed'],
  ])('with %s has a reason', (code, reason) => {
    expect(failure(Object.assign(new Error('connect'), { code, syscall: 'connect' }))).toMatchObject({ reason, maybeSent: false });
  });

  it('may have sent the request, unless it certainly has not', () => {
    expect([{ code: 'ECONNRESET' }, { code: 'ETIMEDOUT', syscall: 'read' }, { code: 'EMFILE' }].map(failure)).toMatchObject([
      { maybeSent: true },
      { maybeSent: true },
      { maybeSent: false },
    ]);
  });
});

describe('an error response', () => {
  it.each([
    ['HTML', '<html>'],
    ['nothing', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['an error that is no word', '{"error":123}'],
    ['five megabytes', JSON.stringify({ error: 'big', message: 'x'.repeat(5_000_000) })],
  ])('still reports its status when it is %s', async (_, body) => {
    const server = await scriptedServer(answer(404, body));
    const error = await failureOf<AopsError>(newClient(server.url).client.call('getRun', getRun));
    expect(error).toMatchObject({ exit: 3, code: 'http_404', details: { status: 404 } });
    expect(error.message.length).toBeLessThan(200);
  });

  it('has the message of the service, the location of the problem, and the request ID', async () => {
    const details = [{ message: 'unknown step', path: 'steps.0', line: 3, column: 5 }];
    const server = await scriptedServer(
      json(400, { error: 'invalid_procedure', message: 'No.', details, other: 1 }, { 'x-request-id': 'req-1' }),
    );
    expect(await failureOf(newClient(server.url).client.call('startRun', start))).toMatchObject({
      exit: 2,
      code: 'invalid_procedure',
      problems: details,
      details: { status: 400, method: 'POST', path: '/v2/teams/t1/runs', request_id: 'req-1', idempotency_key: expect.any(String) },
    });
  });

  it('never contains the credential', async () => {
    const server = await scriptedServer(json(401, { error: 'unauthorized' }));
    const { client, events } = newClient(server.url);
    const error = await failureOf(client.call('getRun', getRun));
    expect(error).toMatchObject({ exit: 4 });
    expect(server.header('authorization')).toEqual(['Bearer secret-token']);
    expect(JSON.stringify([error, events, String(error.stack)])).not.toContain('secret-token');
  });
});

describe('a body', () => {
  it('is cut off and not requested again when it exceeds the limit', async () => {
    const piece = Buffer.alloc(33 * 1024 * 1024, ' ');
    const server = await scriptedServer(partial(200, 1e12, piece, 'stall'));
    expect(await failureOf(newClient(server.url).client.call('getRun', getRun))).toMatchObject({
      exit: 1,
      code: 'answer_too_large',
      message: expect.stringContaining('larger than 32 MiB'),
    });
    expect(server.requests).toHaveLength(1);
  });

  it('is rejected or read only to its declared length when it is longer', async () => {
    const server = await scriptedServer(partial(200, 22, '{"run":{"id":"r1"}}   trailing', 'close'));
    server.always(success);
    expect(await newClient(server.url).client.call('getRun', getRun)).toEqual({ run: { id: 'r1' }, pending_human_request: null });
  });
});

describe('a header that was sent twice', () => {
  it('is read once', async () => {
    const server = await scriptedServer(json(404, { error: 'run_not_found' }, { 'x-request-id': ['one', 'two'] }));
    const { client } = newClient(server.url);
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ details: { request_id: 'one' } });
  });
});

describe('an informational response', () => {
  it('is skipped', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nx-request-id: early\r\n\r\n';
    const body = '{"run":{"id":"r1"}}';
    const rawAnswer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const server = await scriptedServer(raw(early + rawAnswer, 'close'));
    const { client, events } = newClient(server.url);
    expect(await client.call('getRun', getRun)).toEqual({ run: { id: 'r1' }, pending_human_request: null });
    expect(events).toMatchObject([{ type: 'trace', status: 200 }]);
  });
});

describe('aborting', () => {
  const interruption = new AopsError('Interrupted.', { code: 'interrupted', exit: exitCodes.interrupted });

  const moments: [string, Step[], (server: RawServer) => boolean][] = [
    ['before the head of the answer', [noAnswer('stall')], (server) => server.requests.length === 1],
    ['in the middle of the head', [raw('HTTP/1.1 200 OK\r\ncontent-', 'stall')], (server) => server.requests.length === 1],
    ['in the middle of the body', [partial(200, 100, '{', 'stall')], (server) => server.requests.length === 1],
  ];
  it.each(moments)('%s rejects immediately with the reason', async (_, steps, reachedStep) => {
    const server = await scriptedServer(...steps);
    const controller = new AbortController();
    const { client } = newClient(server.url, { signal: controller.signal });
    const failure = failureOf(client.call('getRun', getRun));
    await server.until(reachedStep);
    controller.abort(interruption);
    expect(await failure).toBe(interruption);
    expect(server.requests).toHaveLength(1);
  });

  it('while connecting rejects immediately', async () => {
    const server = await scriptedServer();
    const controller = new AbortController();
    // The handshake is never answered.
    const { client } = newClient(server.url.replace('http:', 'https:'), { signal: controller.signal });
    const failure = failureOf(client.call('getRun', getRun));
    await server.until(({ connections }) => connections === 1);
    controller.abort(interruption);
    expect(await failure).toBe(interruption);
  });

  it('during a pause rejects immediately and sends nothing more', async () => {
    for (const step of [json(503, { error: 'unavailable' }), json(429, { error: 'rate_limited' }, { 'retry-after': '5' })]) {
      const server = await scriptedServer(step);
      const controller = new AbortController();
      const { client } = newClient(server.url, {
        hold: true,
        signal: controller.signal,
        onEvent: (event) => void (event.type === 'trace' || setImmediate(() => controller.abort(interruption))),
      });
      expect(await failureOf(client.call('getRun', getRun))).toBe(interruption);
      expect(server.requests).toHaveLength(1);
    }
  });

  it('before anything was sent prevents sending', async () => {
    const server = await scriptedServer();
    const { client } = newClient(server.url, { signal: AbortSignal.abort(interruption) });
    expect(await failureOf(client.call('getRun', getRun))).toBe(interruption);
    expect(server.requests).toHaveLength(0);
  });

  it('a change in flight keeps the exit code and names the key', async () => {
    const server = await scriptedServer(noAnswer('stall'));
    const controller = new AbortController();
    const { client } = newClient(server.url, { signal: controller.signal });
    const failure = failureOf(client.call('startRun', start));
    await server.until(({ requests }) => requests.length === 1);
    controller.abort(interruption);
    const [key] = server.header('idempotency-key');
    expect(await failure).toMatchObject({
      exit: 130,
      code: 'interrupted',
      hint: expect.stringContaining(`--idempotency-key ${key}`),
      details: { idempotency_key: key },
    });
  });

  it("one call by its own signal does not affect the client's other calls", async () => {
    const server = await scriptedServer(noAnswer('stall'), success);
    const controller = new AbortController();
    const { client } = newClient(server.url);
    const failure = failureOf(client.call('getRun', getRun, { signal: controller.signal }));
    await server.until(({ requests }) => requests.length === 1);
    const otherCall = client.call('getRun', getRun);
    controller.abort(interruption);
    expect(await failure).toBe(interruption);
    expect(await otherCall).toEqual({ run: { id: 'r1' }, pending_human_request: null });
  });
});

describe('an attempt', () => {
  it.each([
    ['no answer', noAnswer('stall')],
    ['a body that stalls', partial(200, 100, '{', 'stall')],
  ])('with %s ends after 30 s, and the next one starts', async (_, step) => {
    const server = await scriptedServer(step, success);
    const { client, clock } = newClient(server.url);
    const result = client.call('getRun', getRun);
    await server.until(({ requests }) => requests.length === 1);
    clock.advance(29_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    expect(await result).toEqual({ run: { id: 'r1' }, pending_human_request: null });
    expect(server.requests).toHaveLength(2);
  });

  it('that takes too long leaves the outcome of a change unknown', async () => {
    const server = (await scriptedServer()).always(noAnswer('stall'));
    const { client, clock } = newClient(server.url);
    const failure = failureOf(client.call('startRun', start));
    for (let count = 1; count <= 4; count += 1) {
      await server.until(({ requests }) => requests.length === count);
      clock.advance(30_000);
    }
    expect(await failure).toMatchObject({ exit: 13, message: 'The outcome is unknown: no complete answer came within 30 s.' });
    expect(new Set(server.header('idempotency-key')).size).toBe(1);
  });
});
