/** Keys, credentials, redirects and Ctrl-C, by their numbers in the list of faults that the core must handle. */
import { describe, expect, it } from 'vitest';
import { AopsError, exitCodes } from '../../src/base/errors.ts';
import { newClient, scriptedServer } from '../client/harness.ts';
import { Gate } from '../service/helpers/runtime.ts';
import { eventually } from '../support/eventually.ts';
import { runPromptly } from '../support/promptly.ts';
import { type Ask, change, connectionsUsed, creation, outcomeOf, readRun, replay, success, untilReceived } from './cases.ts';
import { answer, json, noAnswer, partial, type RecordedRequest, raw, type Step } from './raw-server.ts';

const busyAnswer = json(500, { error: 'internal', message: 'Sorry.' });

describe('a key', () => {
  const running = (headers: Record<string, string> = {}) => json(409, { error: 'idempotency_in_progress' }, headers);
  const storedAnswer = (status: number, error: string) => json(status, { error, message: 'Then.' }, { 'idempotency-replayed': 'true' });

  it('409 in-progress twice, then 201 replayed', async () => {
    const result = await outcomeOf(change, [running(), running({ 'retry-after': '1' }), replay]);
    expect(result).toMatchObject({ exit: 0, attempts: 3, distinctKeys: 1, waitTimes: [250, 1050] });
  });

  it('409 business conflict', async () => {
    const conflict = json(409, { error: 'conflict', message: 'It has ended.' });
    expect(await outcomeOf(change, [conflict])).toMatchObject({ exit: 6, message: 'It has ended.', attempts: 1, waitTimes: [] });
  });

  it.each([429, 401])('a stored %i that is replayed: one fresh key, once', async (status) => {
    expect(await outcomeOf(change, [storedAnswer(status, 'refused'), creation])).toMatchObject({ exit: 0, attempts: 2, distinctKeys: 2 });
    const hopelessServer = (await scriptedServer()).always(storedAnswer(status, 'refused'));
    expect(await outcomeOf(change, hopelessServer)).toMatchObject({ exit: status === 429 ? 7 : 4, attempts: 2, distinctKeys: 2 });
  });

  it('a key that was used for another request is final', async () => {
    const keyReuse = json(400, { error: 'idempotency_key_reused', message: 'Use a new key.' });
    const result = await outcomeOf(change, [keyReuse], { idempotencyKey: 'mine' });
    expect(result).toMatchObject({ exit: 2, attempts: 1, keys: ['mine'], error: { details: { idempotency_key: 'mine' } } });
  });

  it.each([400, 404])('%i + replayed is final: the result of the earlier attempt', async (status) => {
    const result = await outcomeOf(change, [noAnswer('reset'), storedAnswer(status, 'no')]);
    expect(result).toMatchObject({ exit: status === 400 ? 2 : 3, message: 'Then.', attempts: 2, distinctKeys: 1 });
  });

  it('all attempts of one command have the same key, and two commands have two', async () => {
    const [first, second] = [
      await outcomeOf(change, [busyAnswer, busyAnswer, creation]),
      await outcomeOf(change, [busyAnswer, busyAnswer, creation]),
    ];
    expect([first.distinctKeys, second.distinctKeys]).toEqual([1, 1]);
    expect(first.keys[0]).not.toBe(second.keys[0]);
  });

  it.each(['', 'k'.repeat(256), 'a\r\nx-injected: 1', 'schlüssel', 'a\0b', 'a b'])(
    'user key %j is refused here, and not echoed',
    async (key) => {
      const makeClient = (): unknown => newClient('http://127.0.0.1:1', { idempotencyKey: key });
      expect(makeClient).toThrow('must be 1 to 255 visible ASCII characters');
      if (key.length > 2) expect(makeClient).not.toThrow(key);
    },
  );

  it('the longest valid key is sent, also for the second change', async () => {
    const idempotencyKey = 'k'.repeat(255);
    const ask: Ask = async (client) => {
      await change(client);
      return change(client);
    };
    const result = await outcomeOf(ask, [creation, creation], { idempotencyKey });
    expect(result.keys[0]).toBe(idempotencyKey);
    expect(result.keys[1]?.length).toBeLessThanOrEqual(255);
  });
});

describe('a credential', () => {
  const refusal = json(401, { error: 'unauthorized', message: 'No.' });
  const renewable = (values: string[]) => {
    let refreshes = 0;
    return {
      authorization: async () => `Bearer ${values[refreshes]}`,
      refresh: async () => {
        refreshes += 1;
        return refreshes < values.length;
      },
    };
  };

  it('401 with a token, and a new one works: same key', async () => {
    const server = await scriptedServer(refusal, creation);
    expect(await outcomeOf(change, server, { credential: renewable(['old', 'new']) })).toMatchObject({
      exit: 0,
      attempts: 2,
      distinctKeys: 1,
      waitTimes: [],
    });
    expect(server.header('authorization')).toEqual(['Bearer old', 'Bearer new']);
  });

  it('401 again after the refresh', async () => {
    const server = (await scriptedServer()).always(refusal);
    expect(await outcomeOf(change, server, { credential: renewable(['old', 'new', 'newer']) })).toMatchObject({
      exit: 4,
      message: 'No.',
      attempts: 2,
    });
  });

  it('static key 401: no retry', async () => {
    expect(await outcomeOf(change, [refusal])).toMatchObject({ exit: 4, message: 'No.', attempts: 1, waitTimes: [] });
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('%i is not followed', async (status) => {
    const otherServer = await scriptedServer(success);
    const targets = [
      `${otherServer.url}/v2/x`,
      otherServer.url.replace('http://', 'http://user:pass@'),
      'https://127.0.0.1:1/',
      '/v2/loop',
      '//evil.example/',
    ];
    for (const location of targets) {
      for (const ask of [readRun, change]) {
        const result = await outcomeOf(ask, [answer(status, '', { location })]);
        expect(result).toMatchObject({ exit: 1, attempts: 1, error: { code: 'redirected' } });
        expect(result.message).not.toContain('pass');
      }
    }
    expect(otherServer.connections).toBe(0);
  });
});

describe('Ctrl-C', () => {
  const interruption = new AopsError('Interrupted.', { code: 'interrupted', exit: exitCodes.interrupted });
  const rateLimitAnswer = json(429, { error: 'rate_limited' }, { 'retry-after': '30' });
  const phases: [string, Step[], boolean][] = [
    ['headers', [noAnswer('stall')], true],
    ['half a head', [raw('HTTP/1.1 200 OK\r\ncontent-', 'stall')], true],
    ['body', [partial(200, 100, '{', 'stall')], true],
    ['wait to try again', [json(503, { error: 'unavailable' }, { 'retry-after': '30' })], true],
    ['wait for the limit', [rateLimitAnswer], false],
  ];
  it.each(phases)('abort in %s', async (phase, steps, open) => {
    const sockets = connectionsUsed();
    for (const ask of [readRun, change]) {
      const server = await scriptedServer(...steps);
      const controller = new AbortController();
      const { client, events } = newClient(server.url, { hold: true, signal: controller.signal });
      const pendingFailure = ask(client).catch((error: AopsError) => error);
      await server.until(({ requests }) => requests.length === 1);
      await untilReceived(sockets, steps[0] as Step, server.requests[0] as RecordedRequest);
      if (phase.startsWith('wait')) await eventually('the client waits', () => events.some(({ type }) => type !== 'trace'));
      const error = await runPromptly(async () => {
        controller.abort(interruption);
        const failure = (await pendingFailure) as AopsError;
        await client.close();
        await server.until((state) => state.open === 0);
        return failure;
      }, 100);
      expect(error).toMatchObject({ exit: 130 });
      // A change that was being sent may have been carried out, and is reported as such.
      expect(error.details.idempotency_key).toBe(ask === change && open ? server.header('idempotency-key')[0] : undefined);
      expect(server.requests).toHaveLength(1);
    }
  });

  it.each(phases)('the end of the client in %s', async (phase, steps) => {
    const sockets = connectionsUsed();
    for (const ask of [readRun, change]) {
      const server = await scriptedServer(...steps);
      const { client, events } = newClient(server.url, { hold: true });
      const pendingMessage = ask(client).catch((error: Error) => error.message);
      await server.until(({ requests }) => requests.length === 1);
      await untilReceived(sockets, steps[0] as Step, server.requests[0] as RecordedRequest);
      if (phase.startsWith('wait')) await eventually('the client waits', () => events.some(({ type }) => type !== 'trace'));
      await runPromptly(async () => {
        await client.close();
        expect(await pendingMessage).toBe('The client was closed.');
        await server.until((state) => state.open === 0);
      }, 100);
      expect(server.requests).toHaveLength(1);
    }
  });

  it('abort while connecting or fetching a token: nothing was sent, and the outcome is certain', async () => {
    const server = await scriptedServer();
    const tls = server.url.replace('http:', 'https:');
    const requestGate = new Gate();
    const hanging = {
      authorization: (signal?: AbortSignal) => {
        requestGate.open();
        return new Promise<string>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      },
    };
    for (const [url, options, begun] of [
      [tls, {}, () => server.until(({ connections }) => connections === 1)],
      [server.url, { credential: hanging }, () => requestGate.opened],
    ] as const) {
      const controller = new AbortController();
      const { client } = newClient(url, { ...options, hold: true, signal: controller.signal });
      const pendingFailure = change(client).catch((error: AopsError) => error);
      await begun();
      await runPromptly(async () => {
        controller.abort(interruption);
        expect(await pendingFailure).toBe(interruption);
        await client.close();
        await server.until((state) => state.open === 0);
      }, 100);
    }
    expect(server.requests).toHaveLength(0);
  });

  it('no timer is left behind', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const { systemClock } = await import('../../src/base/clock.ts');
    const result = await outcomeOf(readRun, [success], { clock: systemClock });
    await result.client.close();
    expect(timers()).toBeLessThanOrEqual(before);
  });
});
