/** What the client does around the attempts at a request. */
import { describe, expect, it } from 'vitest';
import { AopsError } from '../../src/base/errors.ts';
import type { Credential } from '../../src/client/access/credential.ts';
import { Client } from '../../src/client/client.ts';
import { RetryBudget } from '../../src/client/retry-budget.ts';
import { answer, json, noAnswer, type Step } from '../faults/raw-server.ts';
import { ManualClock } from '../service/helpers/clock.ts';
import { runPromptly } from '../support/promptly.ts';
import { failureOf, newClient, scriptedServer } from './harness.ts';

const getRun = { params: { run_id: 'r1' } };
const start = { params: { teamId: 't1' }, body: { agent_id: 'a1' } };
const success = json(200, { run: { id: 'r1' } });
const creation = json(201, { run: {} });
const busyAnswer = json(503, { error: 'unavailable' });
const closingAnswer = (body: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const { signal } = new AbortController();
/** A connection can be reused shortly after its response was complete. */
const connectionIsFree = () => new Promise((resolve) => setImmediate(resolve));

describe('a request that is not retried', () => {
  it.each([
    ['because its caller retries', {}, { once: true }],
    ['because nothing is retried', { retryBudget: new RetryBudget({ neverRetries: true }) }, {}],
  ])('%s fails with the first failure', async (_, options, callOptions) => {
    for (const step of [busyAnswer, noAnswer('reset')]) {
      const server = (await scriptedServer()).always(step);
      const { client, clock } = newClient(server.url, options);
      const failure = await failureOf<Error>(client.call('getRun', getRun, callOptions));
      expect(failure).toMatchObject({ exit: 8, message: expect.not.stringContaining('no retries left') });
      expect([server.requests.length, clock.waitTimes]).toEqual([1, []]);
    }
  });

  it('waits for the rate limit all the same', async () => {
    const server = await scriptedServer(json(429, { error: 'rate_limited' }, { 'retry-after': '2' }), success);
    const { client, clock } = newClient(server.url);
    await client.call('getRun', getRun, { once: true });
    expect(clock.waitTimes).toEqual([2_100]);
  });
});

describe('a client', () => {
  it('needs neither a clock nor a source of jitter', async () => {
    const server = await scriptedServer(busyAnswer, success, success);
    const { client, clock } = newClient(server.url, {}, ({ random: _, ...options }) => new Client(options));
    await client.call('getRun', getRun);
    expect(clock.waitTimes).toHaveLength(1);
    expect(clock.waitTimes[0]).toBeGreaterThanOrEqual(25);
    expect(clock.waitTimes[0]).toBeLessThanOrEqual(500);
    const { client: plain } = newClient(server.url, {}, ({ random: _, clock: __, ...options }) => new Client(options));
    expect(await plain.call('getRun', getRun)).toMatchObject({ run: { id: 'r1' } });
  });

  it('sends a change under the keys that its caller has reserved', async () => {
    const server = await scriptedServer(creation);
    const { client } = newClient(server.url);
    const keys = client.keysFor('startRun', start);
    expect(client.keysFor('startRun', start)).not.toEqual(keys);
    await client.call('startRun', start, { keys });
    expect(server.header('idempotency-key')).toEqual([keys.key]);
  });

  it('closes its connections with itself', async () => {
    const server = await scriptedServer(success);
    const { client } = newClient(server.url);
    await client.call('getRun', getRun);
    await client.close();
    await runPromptly(() => server.until(({ open }) => open === 0), 2_000);
  });

  it('accepts any body of a request for the status alone, and any error all the same', async () => {
    const request = { method: 'GET', path: '/', headers: {}, mutates: false, statusOnly: true as const };
    const server = await scriptedServer(answer(200, '<html>'), json(404, { error: 'not_found' }));
    const { client } = newClient(server.url);
    expect(await client.send(request)).toMatchObject({ status: 200 });
    expect(await failureOf(client.send(request))).toMatchObject({ code: 'not_found', status: 404 });
  });

  it('reports the request of an error, and its key only for a change', async () => {
    const server = await scriptedServer(json(404, { error: 'no' }), json(404, { error: 'no' }, { 'x-request-id': 'one' }));
    const { client } = newClient(server.url, { idempotencyKey: 'mine' });
    const read = await failureOf(client.call('getRun', getRun));
    expect(read.details).toStrictEqual({ status: 404, method: 'GET', path: '/v2/runs/r1' });
    const change = await failureOf(client.call('startRun', start));
    expect(change.details).toEqual({
      status: 404,
      method: 'POST',
      path: '/v2/teams/t1/runs',
      request_id: 'one',
      idempotency_key: 'mine',
    });
  });
});

describe('a credential that can be renewed', () => {
  const unauthorizedAnswer = json(401, { error: 'unauthorized' });
  const renewable = () => {
    const rejectedTokens: string[] = [];
    const credential: Credential = {
      authorization: async () => `Bearer ${rejectedTokens.length}`,
      refresh: async (value) => {
        rejectedTokens.push(value);
        return true;
      },
    };
    return { rejected: rejectedTokens, credential };
  };

  it('is renewed once for each request', async () => {
    const { rejected, credential } = renewable();
    const server = await scriptedServer(unauthorizedAnswer, unauthorizedAnswer, success, unauthorizedAnswer, success);
    const { client } = newClient(server.url, { credential });
    expect(await failureOf(client.call('getRun', getRun))).toMatchObject({ exit: 4, status: 401 });
    expect(rejected).toEqual(['Bearer 0']);
    await client.call('getRun', getRun);
    await client.call('getRun', getRun);
    expect(server.header('authorization')).toEqual(['Bearer 0', 'Bearer 1', 'Bearer 1', 'Bearer 1', 'Bearer 2']);
  });

  it('is not renewed after other errors', async () => {
    const { rejected, credential } = renewable();
    const server = await scriptedServer(json(404, { error: 'no' }), success);
    expect(await failureOf(newClient(server.url, { credential }).client.call('getRun', getRun))).toMatchObject({ status: 404 });
    expect([rejected, server.requests.length]).toEqual([[], 1]);
  });
});

describe('a read', () => {
  it('is sent again without a key if its response claims to be stored', async () => {
    const server = await scriptedServer(json(429, { error: 'rate_limited' }, { 'idempotency-replayed': 'true' }), success);
    await newClient(server.url).client.call('getRun', getRun);
    expect(server.header('idempotency-key')).toEqual([undefined, undefined]);
  });
});

describe('the retry budget', () => {
  /** A budget for this many more retries. */
  const budgetFor = (retries: number): RetryBudget => {
    const budget = new RetryBudget();
    for (let count = 0; count < 100 - retries; count += 1) budget.spend();
    return budget;
  };

  it('pays for each retry', async () => {
    const server = await scriptedServer(busyAnswer, busyAnswer, success);
    const { client } = newClient(server.url, { retryBudget: budgetFor(1) });
    const message = expect.stringContaining('no retries left because too many of its requests failed');
    expect(await failureOf(client.call('startRun', start))).toMatchObject({ exit: 13, message });
    expect(server.requests).toHaveLength(2);
  });

  it('gets back the cost of a retry that succeeds, and a fifth of it for any other success', async () => {
    const server = await scriptedServer(busyAnswer, success, busyAnswer, success);
    const { client } = newClient(server.url, { retryBudget: budgetFor(1) });
    await client.call('getRun', getRun);
    await client.call('getRun', getRun);
    const other = await scriptedServer(success, success, success, success, busyAnswer, success, busyAnswer, success);
    const { client: poor } = newClient(other.url, { retryBudget: budgetFor(0) });
    for (let count = 0; count < 4; count += 1) await poor.call('getRun', getRun);
    expect(await failureOf(poor.call('getRun', getRun))).toMatchObject({ exit: 8 });
    await poor.call('getRun', getRun);
    await expect(failureOf(poor.call('getRun', getRun))).rejects.toThrow('It should have failed');
  });
});

describe('a change that may have been carried out', () => {
  const now = new ManualClock().now();
  const limitedAnswer = json(
    503,
    { error: 'unavailable' },
    { 'ratelimit-remaining': '0', 'ratelimit-reset': String(now / 1_000 + 30), date: new Date(now).toUTCString() },
  );
  const abandonedRequest = {
    exit: 9,
    code: 'timeout',
    message: expect.stringContaining('The change may have been carried out.'),
    details: { idempotency_key: 'mine' },
  };

  it.each<[string, Step, number]>([
    ['before its next attempt', busyAnswer, 100],
    ['while it waits for the rate limit', limitedAnswer, 20_000],
  ])('is reported as such when the time of the command ends %s', async (_, step, milliseconds) => {
    const { client } = newClient((await scriptedServer(step)).url, { idempotencyKey: 'mine', deadline: now + milliseconds });
    expect(await failureOf(client.call('startRun', start))).toMatchObject(abandonedRequest);
  });

  it('is reported as such when it is aborted while it waits for the rate limit', async () => {
    const controller = new AbortController();
    const reason = new AopsError('The time is over.', { code: 'timeout', exit: 9 });
    const { client, clock } = newClient((await scriptedServer(limitedAnswer)).url, {
      idempotencyKey: 'mine',
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === 'retry') clock.announce();
        if (type === 'rate_limit.waiting') setImmediate(() => controller.abort(reason));
      },
    });
    expect(await failureOf(client.call('startRun', start))).toMatchObject(abandonedRequest);
  });

  it.each([
    [
      'its outcome is unknown',
      new AopsError('The key store is locked.', { code: 'locked', exit: 4 }),
      { exit: 13, code: 'outcome_unknown' },
    ],
    ['a mistake of the program is reported', new Error('broken'), { message: 'broken' }],
  ])('cannot be sent again without a credential: %s', async (_, failure, expected) => {
    let count = 0;
    const authorization = async (): Promise<string> => {
      count += 1;
      if (count > 1) throw failure;
      return 'Bearer x';
    };
    const { client } = newClient((await scriptedServer(busyAnswer)).url, { credential: { authorization } });
    expect(await failureOf(client.call('startRun', start))).toMatchObject(expected);
  });
});

describe('an answer in an event stream', () => {
  const question = { method: 'POST', path: '/mcp', headers: {}, mutates: false, onMessage: (data: string) => data !== 'progress' };
  const stream = (data: string) => answer(200, `data: ${data}\n\n`, { 'content-type': 'text/event-stream' });

  it('is the first message that the caller accepts', async () => {
    const { client } = newClient((await scriptedServer(stream('progress\n\ndata: {"id":1}'))).url);
    expect((await client.send(question)).body.toString()).toBe('{"id":1}');
  });

  it('is requested again if the stream ends without it', async () => {
    const server = await scriptedServer(stream('progress'), stream('{"id":1}'));
    const { client, events } = newClient(server.url);
    expect((await client.send(question)).body.toString()).toBe('{"id":1}');
    expect(events).toContainEqual(expect.objectContaining({ type: 'retry', reason: 'the event stream ended without the answer' }));
  });
});

describe('a change on a connection that the service has closed', () => {
  it('is sent again immediately, without a wait and under the same key', async () => {
    const server = await scriptedServer(creation, noAnswer('reset'), creation);
    const { client, clock, events } = newClient(server.url);
    await client.call('startRun', start);
    await connectionIsFree();
    await client.call('startRun', start);
    const [first, second, third] = server.requests;
    expect([second?.connection, third?.headers['idempotency-key']]).toEqual([first?.connection, second?.headers['idempotency-key']]);
    expect(events.filter(({ type }) => type === 'retry')).toMatchObject([{ waitMilliseconds: 0, attempt: 1 }]);
    expect(clock.waitTimes).toEqual([0]);
  });

  it('is retried with a wait if it was the first request of its connection, or part of an answer has arrived', async () => {
    const freshServer = await scriptedServer(noAnswer('reset'), creation);
    const singleClient = newClient(freshServer.url);
    await singleClient.client.call('startRun', start);
    expect(singleClient.clock.waitTimes).toEqual([250]);
    const server = await scriptedServer(
      creation,
      { after: 'request', bytes: () => closingAnswer('{').slice(0, 20), ending: 'close' },
      creation,
    );
    const otherHarness = newClient(server.url);
    await otherHarness.client.call('startRun', start);
    await connectionIsFree();
    await otherHarness.client.call('startRun', start);
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    expect(otherHarness.clock.waitTimes).toEqual([250]);
  });

  it('is retried with a wait if the service has closed the next connection, too', async () => {
    const server = await scriptedServer(creation, creation, noAnswer('reset'), noAnswer('reset'), creation);
    server.onConnection = (socket) => void (server.connections === 3 && socket.pause());
    const waitTimes: number[] = [];
    let read: Promise<unknown> | undefined;
    const { client, clock } = newClient(server.url, {
      onEvent: (event) => {
        if (event.type !== 'retry') return;
        waitTimes.push(event.waitMilliseconds);
        // This request takes the place of the first connection and is never read, so that the change is sent on the second one.
        read ??= failureOf(client.call('getRun', getRun));
        if (waitTimes.length > 1) clock.announce();
      },
    });
    await Promise.all([client.call('startRun', start), client.call('startRun', start)]);
    await connectionIsFree();
    await client.call('startRun', start);
    expect(waitTimes).toEqual([0, 250]);
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 2, 1, 2, 4]);
    await client.close();
    await read;
  });
});

describe('a key of the user', () => {
  it('that was used before is reported, unless an attempt of this command may have used it', async () => {
    const replay = json(201, { run: {} }, { 'idempotency-replayed': 'true' });
    const isReported = async (steps: Parameters<typeof scriptedServer>, options = {}): Promise<boolean> => {
      const { client, events } = newClient((await scriptedServer(...steps)).url, options);
      await client.call('startRun', start);
      return events.some(({ type }) => type === 'replayed');
    };
    expect(await isReported([replay], { idempotencyKey: 'mine' })).toBe(true);
    expect(await isReported([busyAnswer, replay], { idempotencyKey: 'mine' })).toBe(false);
    expect(await isReported([replay])).toBe(false);
    expect(await isReported([creation], { idempotencyKey: 'mine' })).toBe(false);
  });
});

describe('the wait of a transfer', () => {
  const failure = new Error('The upload broke off.');
  const withHeaders = (seconds: number) => ({ 'retry-after': String(seconds) });

  it('grows, and is at least as long as requested', async () => {
    const { client, clock, events } = newClient('http://127.0.0.1:1');
    await client.backOff(0, failure, signal);
    await client.backOff(2, failure, signal);
    await client.backOff(0, failure, signal, withHeaders(60));
    expect(clock.waitTimes).toEqual([250, 1_000, 62_500]);
    expect(events[1]).toEqual({ type: 'retry', waitMilliseconds: 1_000, reason: 'The upload broke off', attempt: 3 });
  });

  it('is not started if it is longer than the user allows, or if there are no retries left', async () => {
    const { client, clock } = newClient('http://127.0.0.1:1');
    expect(await failureOf(client.backOff(0, failure, signal, withHeaders(61)))).toMatchObject({ exit: 7 });
    for (let count = 0; count < 100; count += 1) await client.backOff(0, failure, signal);
    expect(await failureOf(client.backOff(0, failure, signal))).toBe(failure);
    expect(clock.waitTimes).toHaveLength(100);
  });

  it('ends with its signal, and with the client', async () => {
    const controller = new AbortController();
    const { client } = newClient('http://127.0.0.1:1', { hold: true });
    const abortFailure = failureOf(client.backOff(0, failure, controller.signal));
    const closeFailure = failureOf(client.backOff(0, failure, signal));
    controller.abort(new Error('enough'));
    expect(await abortFailure).toMatchObject({ message: 'enough' });
    await client.close();
    expect(await closeFailure).toMatchObject({ message: 'The client was closed.' });
  });
});

describe('listeners', () => {
  it('hear of waits for the rate limit until they are removed', async () => {
    const rateLimitAnswer = json(429, { error: 'rate_limited' }, { 'retry-after': '2' });
    const server = await scriptedServer(rateLimitAnswer, success, rateLimitAnswer, success);
    const { client } = newClient(server.url);
    const waitTimes: number[] = [];
    const remove = client.onWaiting((milliseconds) => waitTimes.push(milliseconds));
    await client.call('getRun', getRun);
    remove();
    await client.call('getRun', getRun);
    expect(waitTimes).toEqual([2_100]);
  });

  it('see each attempt, with the type of the credential only', async () => {
    const server = await scriptedServer(answer(404, '{}', { 'x-request-id': 'one' }));
    const { client, events } = newClient(`${server.url}/api/`);
    await failureOf(client.call('startRun', start));
    expect(events).toMatchObject([
      {
        type: 'trace',
        method: 'POST',
        url: `${server.url}/api/v2/teams/t1/runs`,
        status: 404,
        milliseconds: 0,
        requestHeaders: { authorization: 'Bearer ***', 'user-agent': 'aops/test', 'idempotency-key': expect.stringMatching(/^aops-/) },
        responseHeaders: { 'x-request-id': 'one' },
      },
    ]);
    const lossyClient = newClient((await scriptedServer(noAnswer('reset'), success)).url);
    await lossyClient.client.call('getRun', getRun);
    expect(Object.keys(lossyClient.events[0]?.type === 'trace' ? (lossyClient.events[0].requestHeaders ?? {}) : {})).toEqual([
      'accept',
      'accept-encoding',
      'user-agent',
      'authorization',
    ]);
    expect(lossyClient.events[0]).toMatchObject({
      type: 'trace',
      reason: 'the connection was reset',
      requestHeaders: { authorization: 'Bearer ***' },
    });
  });
});
