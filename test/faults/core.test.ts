/** Faults of the network and of answers, by their numbers in the list of faults that the core must handle. */
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { AopsError } from '../../src/base/errors.ts';
import { Agent } from '../../src/base/undici.ts';
import type { Client } from '../../src/client/client.ts';
import { RetryBudget } from '../../src/client/retry-budget.ts';
import { newClient, scriptedServer } from '../client/harness.ts';
import { closedPort } from '../support/ports.ts';
import { afterTest } from '../support/temporary.ts';
import { type CertificateName, startHttps } from '../support/tls.ts';
import { change, connectedBy, creation, outcomeAt, outcomeOf, readRun, replay, run, success } from './cases.ts';
import { answer, json, noAnswer, partial, RawServer, raw, type Step } from './raw-server.ts';

const busyAnswer = json(500, { error: 'internal', message: 'Sorry.' });
const unavailableAnswer = json(503, { error: 'unavailable' });
const unknownOutcome = { exit: 13, message: expect.stringContaining('The outcome is unknown') };
const jsonType = { 'content-type': 'application/json' };

/** A dispatcher whose name lookups fail with this error. */
const lookupFails = (code: string) =>
  connectedBy(
    new Agent({
      connect: {
        lookup: (host, _options, callback) =>
          callback(Object.assign(new Error(`getaddrinfo ${code} ${host}`), { code, syscall: 'getaddrinfo', hostname: host }), ''),
      },
    }),
  );

/** A dispatcher that never connects: it fails after a while with this error, or hangs. */
const neverConnects = (code?: string) =>
  connectedBy(
    new Agent({
      connect: (_: unknown, callback: (error: Error, socket: null) => void) => {
        if (code !== undefined) setImmediate(() => callback(Object.assign(new Error('Connect Timeout Error'), { code }), null));
      },
    }),
  );

describe('connecting', () => {
  it('connection refused twice, then 200', async () => {
    const port = await closedPort();
    let requests = 0;
    let server: RawServer | undefined;
    const authorization = async (): Promise<string> => {
      requests += 1;
      if (requests === 3) server = await RawServer.startAt(port, creation);
      return 'Bearer secret-token';
    };
    const result = await outcomeAt(change, `http://127.0.0.1:${port}`, undefined, { credential: { authorization } });
    afterTest(async () => server?.close());
    expect(result).toMatchObject({ exit: 0, value: { run }, waitTimes: [250, 500], elapsedTime: 750 });
    expect(server?.requests).toHaveLength(1);
  });

  it('always refused', async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    for (const ask of [readRun, change]) {
      const result = await outcomeAt(ask, url, undefined);
      expect(result).toMatchObject({
        exit: 8,
        waitTimes: [250, 500, 1000],
        message: `Could not reach ${url}: the connection was refused.`,
      });
    }
  });

  it('always refused, with a deadline before the end of the next wait', async () => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const deadline = Date.parse('2026-07-18T09:00:01.000Z');
    const result = await outcomeAt(readRun, url, undefined, { deadline });
    expect(result).toMatchObject({
      exit: 9,
      waitTimes: [250, 500],
      message:
        'The command cannot finish in time: the connection was refused. The next attempt would be in 1s, but --timeout leaves only 250ms.',
    });
  });

  it('DNS ENOTFOUND is retried once', async () => {
    const result = await outcomeAt(change, 'http://agents.invalid', undefined, {}, lookupFails('ENOTFOUND'));
    expect(result).toMatchObject({
      exit: 8,
      waitTimes: [250],
      message: 'Could not reach http://agents.invalid: the host name could not be found.',
    });
  });

  it('DNS EAI_AGAIN is retried', async () => {
    const result = await outcomeAt(change, 'http://agents.invalid', undefined, {}, lookupFails('EAI_AGAIN'));
    expect(result).toMatchObject({ exit: 8, waitTimes: [250, 500, 1000], message: expect.stringContaining('http://agents.invalid') });
  });

  it('SYN packets that are dropped: the change was certainly not sent', async () => {
    const result = await outcomeAt(change, 'http://192.0.2.1', undefined, {}, neverConnects('UND_ERR_CONNECT_TIMEOUT'));
    expect(result).toMatchObject({ exit: 8, waitTimes: [250, 500, 1000], message: expect.stringContaining('could not be made in time') });
  });

  it('a connection that is never established ends with the attempt, and the outcome is certain', async () => {
    const { client, clock, events } = newClient('http://192.0.2.1', { hold: true }, neverConnects());
    const pendingFailure = change(client).catch((error: AopsError) => error);
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(30_000);
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(8_000);
    }
    expect(await pendingFailure).toMatchObject({ exit: 8 });
    expect(events.filter(({ type }) => type === 'retry')).toHaveLength(3);
  });

  it.each([
    ['self-signed', 'self-signed'],
    ['expired', 'has expired'],
    ['wrong-name', 'is for another name'],
  ] as [CertificateName, string][])('TLS: %s', async (name, reason) => {
    const server = await startHttps(name, (_, response) => response.end());
    afterTest(server.close);
    const trustingNetwork = { certificates: { authorities: (await import('../support/tls.ts')).authority } };
    const result = await outcomeAt(change, `https://127.0.0.1:${server.port}`, undefined, { network: trustingNetwork });
    expect(result).toMatchObject({
      exit: 8,
      waitTimes: [],
      message: expect.stringContaining(reason),
      hint: expect.stringContaining('--ca-file'),
    });
  });

  it('TLS: the handshake is interrupted', async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterTest(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as { port: number };
    const result = await outcomeAt(change, `https://127.0.0.1:${port}`, undefined);
    expect(result).toMatchObject({ exit: 8, waitTimes: [250, 500, 1000] });
  });

  it('TLS: plain HTTP to a service that uses TLS', async () => {
    const server = await startHttps('server', (_, response) => response.end());
    afterTest(server.close);
    const result = await outcomeAt(readRun, `http://127.0.0.1:${server.port}`, undefined);
    expect(result).toMatchObject({ exit: 8, hint: expect.stringContaining('starts with https://') });
  });

  it('the connection closes before the response headers of a keyed write', async () => {
    expect(await outcomeOf(change, [noAnswer('close'), creation])).toMatchObject({
      exit: 0,
      attempts: 2,
      distinctKeys: 1,
      waitTimes: [250],
    });
  });

  it('the connection closes as soon as the headers of a keyed write were read', async () => {
    expect(await outcomeOf(change, [noAnswer('close', 'head'), creation])).toMatchObject({ exit: 0, attempts: 2, distinctKeys: 1 });
  });

  it('a used connection that turns out closed gets one more attempt immediately, in addition to the retries', async () => {
    const server = await scriptedServer(success, noAnswer('close'), noAnswer('close'), noAnswer('close'), noAnswer('close'), creation);
    const ask = async (client: Client): Promise<unknown> => {
      await readRun(client);
      // The connection can be reused a moment after the answer.
      await new Promise((resolve) => setImmediate(resolve));
      return change(client);
    };
    const result = await outcomeOf(ask, server);
    // The read, the attempt on its connection, the immediate one, and three retries.
    expect(result).toMatchObject({ exit: 0, attempts: 6, waitTimes: [0, 250, 500, 1000] });
    expect(new Set(result.keys.slice(1)).size).toBe(1);
  });

  it('a new connection gets no extra attempt', async () => {
    const server = (await scriptedServer()).always(noAnswer('close'));
    expect(await outcomeOf(change, server)).toMatchObject({ ...unknownOutcome, attempts: 4, distinctKeys: 1, waitTimes: [250, 500, 1000] });
  });

  it('a reset after the complete request, which the service had carried out already', async () => {
    const result = await outcomeOf(change, [noAnswer('reset'), replay]);
    expect(result).toMatchObject({ exit: 0, value: { run }, attempts: 2, distinctKeys: 1, waitTimes: [250] });
    expect(result.events.some(({ type }) => type === 'replayed')).toBe(false);
  });

  it('endless resets leave the outcome unknown', async () => {
    const result = await outcomeOf(change, (await scriptedServer()).always(noAnswer('reset')));
    expect(result).toMatchObject({ ...unknownOutcome, attempts: 4, distinctKeys: 1, hint: expect.stringContaining('--idempotency-key') });
    expect(result.hint).toContain(result.keys[0]);
  });
});

describe('an answer that does not arrive', () => {
  const slowSteps: [string, Step, ((tick: number) => string) | undefined][] = [
    ['headers never arrive', noAnswer('stall'), undefined],
    ['headers drip one byte a second', raw('HTTP/1.1 200 OK\r\nx-long: ', 'stall'), () => 'x'],
    ['body stalls mid-way', partial(200, 100, '{"run":', 'stall'), undefined],
    ['body drips for ever', partial(200, 1_000_000, '{"run":"', 'stall'), () => 'x'],
  ];
  it.each(slowSteps)('%s', async (_, step, drip) => {
    for (const ask of [readRun, change]) {
      const server = await scriptedServer(step, ask === readRun ? success : creation);
      let socket: { write(text: string): unknown } | undefined;
      server.onConnection = (connection) => {
        socket ??= connection;
      };
      const { client, clock, events } = newClient(server.url);
      const result = ask(client);
      await server.until(({ requests }) => requests.length === 1);
      for (let second = 1; second < 30; second += 1) {
        if (drip) socket?.write(drip(second));
        clock.advance(1_000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect([server.requests.length, events.length]).toEqual([1, 0]);
      clock.advance(1_000);
      expect(await result).toMatchObject({ run: { id: 'r1' } });
      expect(events).toMatchObject([
        { type: 'trace' },
        { type: 'retry', reason: 'no complete answer came within 30 s' },
        { type: 'trace' },
      ]);
      const [first, second] = server.header('idempotency-key');
      expect(second).toBe(first);
      // The connection of the abandoned attempt is closed.
      await server.until(({ open }) => open === 1);
    }
  });
});

describe('an incomplete answer', () => {
  const chunkedAnswer = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
  const cutSteps: [string, Step][] = [
    ['Content-Length 100, 40 sent, FIN', partial(200, 100, JSON.stringify({ run, more: 'x' }), 'close')],
    ['Content-Length 100, 40 sent, reset', partial(200, 100, JSON.stringify({ run, more: 'x' }), 'reset')],
    ['chunked, no final chunk', raw(`${chunkedAnswer}8\r\n{"run":1\r\n`, 'close')],
    ['chunked, cut in the size of a chunk', raw(`${chunkedAnswer}8`, 'close')],
    ['close-delimited truncated JSON, 200', raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"run":', 'close')],
    ['nothing at all after the head, 200', raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n', 'close')],
  ];
  it.each(cutSteps)('%s', async (_, step) => {
    expect(await outcomeOf(readRun, [step, success])).toMatchObject({ exit: 0, value: { run }, attempts: 2, waitTimes: [250] });
    // For a change, the replayed answer counts.
    expect(await outcomeOf(change, [step, replay])).toMatchObject({ exit: 0, value: { run }, attempts: 2, distinctKeys: 1 });
    expect(await outcomeOf(change, (await scriptedServer()).always(step))).toMatchObject({
      ...unknownOutcome,
      attempts: 4,
      distinctKeys: 1,
    });
  });

  it('truncated, and the replay is a refusal', async () => {
    const refusal = json(404, { error: 'agent_not_found', message: 'No such agent.' }, { 'idempotency-replayed': 'true' });
    const result = await outcomeOf(change, [answer(201, '{"run"', jsonType), refusal]);
    expect(result).toMatchObject({ exit: 3, message: 'No such agent.', attempts: 2, distinctKeys: 1 });
  });
});

describe('an answer of another kind', () => {
  it.each(['[]', 'null', '"ok"', '7', '{}', '{"data":[]}'])('valid JSON, wrong shape: %s', async (body) => {
    const result = await outcomeOf(readRun, [answer(200, body, jsonType)]);
    expect(result).toMatchObject({ exit: 1, attempts: 1, error: { code: 'unusable_answer' } });
    expect(result.message).not.toContain(body);
  });

  it('a response without the requested run', async () => {
    expect(await outcomeOf(readRun, [answer(200, '{"run":null,"pending_human_request":null}', jsonType)])).toMatchObject({
      exit: 3,
      attempts: 1,
      error: { code: 'run_not_shown' },
    });
  });

  it.each<[string, Step, string]>([
    [
      'gzip',
      answer(200, '{"run":{}}', { ...jsonType, 'content-encoding': 'gzip' }),
      'the answer was encoded as gzip, which was not requested',
    ],
    ['bytes that are no UTF-8', answer(200, Buffer.from('{"run":"\xff"}', 'latin1'), jsonType), 'the answer was not UTF-8'],
    ['UTF-16', answer(200, Buffer.from('\ufeff{"run":{}}', 'utf16le'), jsonType), 'the answer was not UTF-8'],
  ])('misencoded: %s', async (_, step, reason) => {
    expect(await outcomeOf(readRun, [step, success])).toMatchObject({ exit: 0, attempts: 2 });
    expect(await outcomeOf(readRun, (await scriptedServer()).always(step))).toMatchObject({
      exit: 8,
      attempts: 4,
      message: expect.stringContaining(reason),
    });
    expect(await outcomeOf(change, (await scriptedServer()).always(step))).toMatchObject({
      ...unknownOutcome,
      attempts: 4,
      distinctKeys: 1,
    });
  });

  it.each<[string, Step, string]>([
    ['HTML', answer(200, '<html>', { 'content-type': 'text/html; charset=utf-8' }), 'the answer was text/html, not JSON'],
    ['a text', answer(201, 'OK', { 'content-type': 'text/plain' }), 'the answer was text/plain, not JSON'],
    ['no type', answer(200, '{}'), 'the answer was of an unknown type, not JSON'],
  ])('of another type is final, because another program answers: %s', async (_, step, reason) => {
    expect(await outcomeOf(readRun, [step, success])).toMatchObject({
      exit: 8,
      attempts: 1,
      message: expect.stringMatching(new RegExp(`^Something other than the service answers at http://127\\.0\\.0\\.1:\\d+: ${reason}\\.$`)),
      error: { code: 'service_unavailable', hint: expect.stringContaining('aops config explain') },
    });
    expect(await outcomeOf(change, [step, replay])).toMatchObject({ ...unknownOutcome, attempts: 1, distinctKeys: 1 });
  });

  it('501 is final, and nothing was done', async () => {
    const step = json(501, { error: 'not_implemented', message: 'Not here.' });
    for (const ask of [readRun, change])
      expect(await outcomeOf(ask, [step, success])).toMatchObject({ exit: 8, attempts: 1, message: 'Not here.' });
  });

  it('a byte order mark is not part of the JSON, and identity is not an encoding', async () => {
    const step = answer(200, `\ufeff${JSON.stringify({ run })}`, { ...jsonType, 'content-encoding': 'identity' });
    expect(await outcomeOf(readRun, [step])).toMatchObject({ exit: 0, value: { run }, attempts: 1 });
  });

  it('no encoding is requested', async () => {
    const server = await scriptedServer(success);
    await outcomeOf(readRun, server);
    expect(server.header('accept-encoding')).toEqual(['identity']);
  });

  it('204 and an empty body when JSON is expected', async () => {
    for (const step of [raw('HTTP/1.1 204 No Content\r\n\r\n'), answer(200, '', jsonType), answer(201, '')]) {
      expect(await outcomeOf(change, [step])).toMatchObject({ exit: 1, attempts: 1, error: { code: 'unusable_answer' } });
    }
  });

  it('204 and an empty body when no JSON is expected', async () => {
    const remove = { method: 'DELETE', path: '/v2/things/1', headers: {}, mutates: true };
    for (const step of [raw('HTTP/1.1 204 No Content\r\n\r\n'), answer(200, '')]) {
      expect(await outcomeOf((client) => client.send(remove), [step])).toMatchObject({ exit: 0, attempts: 1, distinctKeys: 1 });
    }
  });

  it('10 GB on a JSON route, declared: rejected before it is read', async () => {
    const server = await scriptedServer(partial(200, 1e10, '{', 'stall'));
    expect(await outcomeOf(readRun, server)).toMatchObject({
      exit: 1,
      attempts: 1,
      message: expect.stringContaining('larger than 32 MiB'),
    });
    await server.until(({ open }) => open === 0);
  });

  it('10 GB on a JSON route, in chunks: cut at the limit', async () => {
    const piece = Buffer.alloc(1024 * 1024, ' ');
    const server = await scriptedServer(
      raw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n', 'stall'),
    );
    let writtenCount = 0;
    server.onConnection = (socket) => {
      const writeMore = (): void => {
        while (!socket.destroyed && writtenCount < 10_000) {
          writtenCount += 1;
          if (!socket.write(Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')]))) return;
        }
      };
      socket.on('drain', writeMore);
      socket.once('data', () => setImmediate(writeMore));
    };
    expect(await outcomeOf(readRun, server)).toMatchObject({
      exit: 1,
      attempts: 1,
      message: expect.stringContaining('larger than 32 MiB'),
    });
    expect(writtenCount).toBeLessThan(60);
  });

  it('an answer that is not HTTP', async () => {
    expect(await outcomeOf(readRun, [raw('SSH-2.0-OpenSSH_9.6\r\n', 'close')])).toMatchObject({
      exit: 8,
      attempts: 1,
      message: expect.stringContaining('not valid HTTP'),
    });
  });

  it.each([
    ['HTML', '<html>\u001b[31m'],
    ['nothing', ''],
    ['no object', '[]'],
    ['an error that is no word', '{"error":123}'],
    ['5 MB', JSON.stringify({ error: 'big', message: 'x'.repeat(5_000_000) })],
  ])('error body is %s', async (_, body) => {
    const result = await outcomeOf(readRun, [answer(404, body)]);
    expect(result).toMatchObject({ exit: 3, attempts: 1, error: { code: 'http_404', details: { status: 404 } } });
    expect(result.message.length).toBeLessThan(200);
  });

  it('an endless error body still reports the status', async () => {
    const server = await scriptedServer(partial(404, 1e10, ' '.repeat(2_000_000), 'stall'));
    expect(await outcomeOf(readRun, server)).toMatchObject({ exit: 3, attempts: 1 });
  });
});

describe('an error status', () => {
  it('500, 503, 200 on GET', async () => {
    expect(await outcomeOf(readRun, [busyAnswer, unavailableAnswer, success])).toMatchObject({
      exit: 0,
      attempts: 3,
      waitTimes: [250, 500],
      keys: [undefined, undefined, undefined],
    });
  });

  it('waits are within the bounds of the jitter', async () => {
    for (const [random, waitTimes] of [
      [0, [25, 25, 25]],
      [0.999, [500, 999, 1998]],
    ] as const) {
      const result = await outcomeOf(readRun, (await scriptedServer()).always(busyAnswer), { random: () => random });
      expect(result).toMatchObject({ exit: 8, message: 'Sorry.', attempts: 4, waitTimes });
    }
  });

  it('always 500 for a keyed write', async () => {
    const result = await outcomeOf(change, (await scriptedServer()).always(busyAnswer));
    expect(result).toMatchObject({ ...unknownOutcome, attempts: 4, distinctKeys: 1, waitTimes: [250, 500, 1000], elapsedTime: 1750 });
    expect(result.hint).toContain(`--idempotency-key ${result.keys[0]}`);
    expect(result.error?.details).toMatchObject({ idempotency_key: result.keys[0] });
  });

  it('500 on a keyed write, and a deadline before the next attempt', async () => {
    const deadline = Date.parse('2026-07-18T09:00:00.200Z');
    const result = await outcomeOf(change, [busyAnswer], { deadline });
    expect(result).toMatchObject({ exit: 9, attempts: 1, waitTimes: [] });
    expect(result.message).toContain('The change may have been carried out.');
    expect(result.hint).toContain(`--idempotency-key ${result.keys[0]}`);
  });

  it('the budget of the process limits the retries of all requests', async () => {
    const server = (await scriptedServer()).always(busyAnswer);
    const retryBudget = new RetryBudget();
    const ask = async (client: Client) => {
      for (let page = 0; page < 60; page += 1) await readRun(client).catch(() => undefined);
      return change(client);
    };
    const result = await outcomeOf(ask, server, { retryBudget });
    // 61 requests; each of 100 retries costs 5 of 500.
    expect(result).toMatchObject({
      exit: 13,
      attempts: 161,
      message: expect.stringContaining('this command has no retries left'),
    });
    expect(await outcomeOf(readRun, [busyAnswer, success], { retryBudget })).toMatchObject({ exit: 8, attempts: 1 });
    for (let count = 0; count < 5; count += 1) expect(await outcomeOf(readRun, [success], { retryBudget })).toMatchObject({ exit: 0 });
    expect(await outcomeOf(readRun, [busyAnswer, success], { retryBudget })).toMatchObject({ exit: 0, attempts: 2 });
  });
});
