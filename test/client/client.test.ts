/** What the client does around the attempts at a request. */
import { describe, expect, it } from 'vitest';
import { RetryBudget } from '../../src/client/retry-budget.ts';
import { answer, json, noAnswer } from '../faults/raw-server.ts';
import { failureOf, newClient, scripted } from './harness.ts';

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
    ['because nothing is retried', { retryBudget: new RetryBudget({ never: true }) }, {}],
  ])('%s fails with the first failure', async (_, options, callOptions) => {
    for (const step of [busyAnswer, noAnswer('reset')]) {
      const server = (await scripted()).always(step);
      const { client, clock } = newClient(server.url, options);
      expect(await failureOf(client.call('getRun', getRun, callOptions))).toMatchObject({ exit: 8 });
      expect([server.requests.length, clock.waits]).toEqual([1, []]);
    }
  });

  it('waits for the rate limit all the same', async () => {
    const server = await scripted(json(429, { error: 'rate_limited' }, { 'retry-after': '2' }), success);
    const { client, clock } = newClient(server.url);
    await client.call('getRun', getRun, { once: true });
    expect(clock.waits).toEqual([2_100]);
  });
});

describe('an answer in an event stream', () => {
  const question = { method: 'POST', path: '/mcp', headers: {}, mutates: false, onMessage: (data: string) => data !== 'progress' };
  const stream = (data: string) => answer(200, `data: ${data}\n\n`, { 'content-type': 'text/event-stream' });

  it('is the first message that the caller accepts', async () => {
    const { client } = newClient((await scripted(stream('progress\n\ndata: {"id":1}'))).url);
    expect((await client.send(question)).body.toString()).toBe('{"id":1}');
  });

  it('is requested again if the stream ends without it', async () => {
    const server = await scripted(stream('progress'), stream('{"id":1}'));
    const { client, events } = newClient(server.url);
    expect((await client.send(question)).body.toString()).toBe('{"id":1}');
    expect(events).toContainEqual(expect.objectContaining({ type: 'retry', reason: 'the event stream ended without the answer' }));
  });
});

describe('a change on a connection that the service has closed', () => {
  it('is sent again immediately, without a wait and under the same key', async () => {
    const server = await scripted(creation, noAnswer('reset'), creation);
    const { client, clock, events } = newClient(server.url);
    await client.call('startRun', start);
    await connectionIsFree();
    await client.call('startRun', start);
    const [first, second, third] = server.requests;
    expect([second?.connection, third?.headers['idempotency-key']]).toEqual([first?.connection, second?.headers['idempotency-key']]);
    expect(events.filter(({ type }) => type === 'retry')).toMatchObject([{ waitMilliseconds: 0, attempt: 1 }]);
    expect(clock.waits).toEqual([0]);
  });

  it('is retried with a wait if it was the first request of its connection, or part of an answer has arrived', async () => {
    const freshServer = await scripted(noAnswer('reset'), creation);
    const singleClient = newClient(freshServer.url);
    await singleClient.client.call('startRun', start);
    expect(singleClient.clock.waits).toEqual([250]);
    const server = await scripted(creation, { after: 'request', bytes: () => closingAnswer('{').slice(0, 20), ending: 'close' }, creation);
    const otherHarness = newClient(server.url);
    await otherHarness.client.call('startRun', start);
    await connectionIsFree();
    await otherHarness.client.call('startRun', start);
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
    expect(otherHarness.clock.waits).toEqual([250]);
  });

  it('is retried with a wait if the service has closed the next connection, too', async () => {
    const server = await scripted(creation, creation, noAnswer('reset'), noAnswer('reset'), creation);
    server.onConnection = (socket) => void (server.connections === 3 && socket.pause());
    const waits: number[] = [];
    let read: Promise<unknown> | undefined;
    const { client, clock } = newClient(server.url, {
      onEvent: (event) => {
        if (event.type !== 'retry') return;
        waits.push(event.waitMilliseconds);
        // This request takes the place of the first connection and is never read, so that the change is sent on the second one.
        read ??= failureOf(client.call('getRun', getRun));
        if (waits.length > 1) clock.announce();
      },
    });
    await Promise.all([client.call('startRun', start), client.call('startRun', start)]);
    await connectionIsFree();
    await client.call('startRun', start);
    expect(waits).toEqual([0, 250]);
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 2, 1, 2, 4]);
    await client.close();
    await read;
  });
});

describe('a key of the user', () => {
  it('that was used before is reported, unless an attempt of this command may have used it', async () => {
    const replay = json(201, { run: {} }, { 'idempotency-replayed': 'true' });
    const isReported = async (steps: Parameters<typeof scripted>, options = {}): Promise<boolean> => {
      const { client, events } = newClient((await scripted(...steps)).url, options);
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
    expect(clock.waits).toEqual([250, 1_000, 62_500]);
    expect(events[1]).toEqual({ type: 'retry', waitMilliseconds: 1_000, reason: 'The upload broke off', attempt: 3 });
  });

  it('is not started if it is longer than the user allows, or if there are no retries left', async () => {
    const { client, clock } = newClient('http://127.0.0.1:1');
    expect(await failureOf(client.backOff(0, failure, signal, withHeaders(61)))).toMatchObject({ exit: 7 });
    for (let count = 0; count < 100; count += 1) await client.backOff(0, failure, signal);
    expect(await failureOf(client.backOff(0, failure, signal))).toBe(failure);
    expect(clock.waits).toHaveLength(100);
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
    const server = await scripted(rateLimitAnswer, success, rateLimitAnswer, success);
    const { client } = newClient(server.url);
    const waits: number[] = [];
    const remove = client.onWaiting((milliseconds) => waits.push(milliseconds));
    await client.call('getRun', getRun);
    remove();
    await client.call('getRun', getRun);
    expect(waits).toEqual([2_100]);
  });

  it('see each attempt, with the type of the credential only', async () => {
    const server = await scripted(answer(404, '{}', { 'x-request-id': 'one' }));
    const { client, events } = newClient(`${server.url}/api/`);
    await failureOf(client.call('startRun', start));
    expect(events).toMatchObject([
      {
        type: 'trace',
        method: 'POST',
        url: `${server.url}/api/v2/teams/t1/runs`,
        status: 404,
        requestHeaders: { authorization: 'Bearer ***', 'user-agent': 'aops/test', 'idempotency-key': expect.stringMatching(/^aops-/) },
        responseHeaders: { 'x-request-id': 'one' },
      },
    ]);
    const lossyClient = newClient((await scripted(noAnswer('reset'), success)).url);
    await lossyClient.client.call('getRun', getRun);
    expect(lossyClient.events[0]).toMatchObject({
      type: 'trace',
      reason: 'the connection was reset',
      requestHeaders: { authorization: 'Bearer ***' },
    });
  });
});
