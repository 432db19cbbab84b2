/** Rate limits, by their numbers in the list of faults that the core must handle. The service's clock is that of the harness, plus a skew. */
import { describe, expect, it } from 'vitest';
import { bearerCredential } from '../../src/client/access/credential.ts';
import { newClient, scriptedServer, type WaitClock } from '../client/harness.ts';
import { eventually } from '../support/eventually.ts';
import { type Ask, change, creation, outcomeOf, readRun, run, success } from './cases.ts';
import { json, type RawServer, reply } from './raw-server.ts';

type Headers = Record<string, string | string[]>;
const rateLimitAnswer = (headers: Headers = {}) => json(429, { error: 'rate_limited', message: 'Slow down.' }, headers);
const successWith = (headers: Headers) => json(200, { run, pending_human_request: null }, headers);
const unavailableAnswer = (headers: Headers) => json(503, { error: 'unavailable' }, headers);

/** The initial time of the harness's clock. */
const now = Date.parse('2026-07-18T09:00:00.000Z');
const date = (offset = 0) => new Date(now + offset).toUTCString();
const seconds = (offset: number) => String((now + offset) / 1_000);
const askTwice: Ask = async (client) => {
  await readRun(client);
  return readRun(client);
};

describe('Retry-After', () => {
  it('503 with Retry-After: 2 waits two seconds, and at most a tenth longer', async () => {
    for (const [random, wait] of [
      [0, 2_000],
      [1, 2_200],
    ] as const) {
      expect(await outcomeOf(readRun, [unavailableAnswer({ 'retry-after': '2' }), success], { random: () => random })).toMatchObject({
        exit: 0,
        attempts: 2,
        waitTimes: [wait],
      });
    }
  });

  it.each([-3_600_000, 0, 3_600_000])('429 with an HTTP date in Retry-After, local clock off by %i ms', async (skew) => {
    const step = rateLimitAnswer({ 'retry-after': date(skew + 10_000), date: date(skew) });
    expect(await outcomeOf(change, [step, creation])).toMatchObject({ exit: 0, attempts: 2, distinctKeys: 1, waitTimes: [10_500] });
  });

  it.each([
    ['RFC 850', 'Saturday, 18-Jul-26 09:00:10 GMT'],
    ['asctime', 'Sat Jul 18 09:00:10 2026'],
  ])('the obsolete format %s', async (_, value) => {
    expect(await outcomeOf(readRun, [rateLimitAnswer({ 'retry-after': value, date: date() }), success])).toMatchObject({
      waitTimes: [10_500],
    });
  });

  it.each(['garbage', 'later 1', '-5', '1e20', '99999999999', '', ' ', '0x10', 'NaN', 'Infinity', date(-60_000), '2026-07-18'])(
    'Retry-After: %j is a back-off of our own',
    async (value) => {
      const result = await outcomeOf(readRun, [rateLimitAnswer({ 'retry-after': value, date: date() }), success]);
      expect(result).toMatchObject({ exit: 0, attempts: 2, waitTimes: [525] });
    },
  );

  it.each<[string, Headers, number]>([
    ['1.5', { 'retry-after': '1.5' }, 1_575],
    ['duplicated', { 'retry-after': ['4', '60'] }, 4_200],
    ['duplicated in one line', { 'retry-after': '4, 60' }, 4_200],
  ])('Retry-After: %s', async (_, headers, wait) => {
    expect(await outcomeOf(readRun, [rateLimitAnswer(headers), success])).toMatchObject({ exit: 0, attempts: 2, waitTimes: [wait] });
  });

  it('Retry-After: 3600 does not sleep, and never retries early', async () => {
    for (const ask of [readRun, change]) {
      const result = await outcomeOf(ask, [rateLimitAnswer({ 'retry-after': '3600' })]);
      expect(result).toMatchObject({
        exit: 7,
        attempts: 1,
        waitTimes: [],
        error: { code: 'rate_limited', details: { retry_after_seconds: 3600 } },
      });
      expect(result.hint).toContain('--max-wait 3601s');
    }
    expect(await outcomeOf(readRun, [unavailableAnswer({ 'retry-after': '3600' })])).toMatchObject({ exit: 8, attempts: 1, waitTimes: [] });
  });

  it('Retry-After beyond the deadline fails immediately, and reports the wait', async () => {
    const result = await outcomeOf(readRun, [rateLimitAnswer({ 'retry-after': '30' })], { deadline: now + 10_000 });
    expect(result).toMatchObject({ exit: 9, attempts: 1, waitTimes: [], error: { code: 'timeout', details: { retry_after_seconds: 32 } } });
    expect(result.message).toBe(
      'The command cannot finish in time: the rate limit is used up. The next attempt would be in 31s, but --timeout leaves only 10s.',
    );
  });

  it('429 without headers backs off and ends', async () => {
    const result = await outcomeOf(change, (await scriptedServer()).always(rateLimitAnswer()));
    expect(result).toMatchObject({ exit: 7, message: 'Slow down.', attempts: 4, distinctKeys: 1, waitTimes: [525, 1050, 2100] });
  });
});

describe('the gate', () => {
  const usedUp = (skew = 0, extraHeaders: Headers = {}) =>
    successWith({ 'ratelimit-remaining': '0', 'ratelimit-reset': seconds(skew + 5_000), date: date(skew), ...extraHeaders });

  it('Remaining: 0 on a 200 delays the next request, although nothing failed', async () => {
    const result = await outcomeOf(askTwice, [usedUp(), success]);
    expect(result).toMatchObject({ exit: 0, attempts: 2, waitTimes: [6_300] });
    expect(result.events.filter(({ type }) => type.startsWith('rate_limit'))).toEqual([
      { type: 'rate_limit.waiting', waitMilliseconds: 6_300 },
      { type: 'rate_limit.resumed' },
    ]);
  });

  it.each([-600_000, 600_000])('the same with the local clock off by %i ms', async (skew) => {
    expect(await outcomeOf(askTwice, [usedUp(skew), success])).toMatchObject({ exit: 0, attempts: 2, waitTimes: [6_300] });
  });

  it('without Date the local clock is used, plus one second', async () => {
    const step = successWith({ 'ratelimit-remaining': '0', 'ratelimit-reset': seconds(5_000) });
    expect(await outcomeOf(askTwice, [step, success])).toMatchObject({ waitTimes: [7_350] });
  });

  it('setting the clock during a wait changes nothing', async () => {
    const server = await scriptedServer(usedUp(), success);
    const { client, clock } = newClient(server.url, { hold: true });
    let set = 0;
    const wall = clock.now.bind(clock);
    Object.assign(clock, { steady: wall, now: () => wall() + set });
    await readRun(client);
    const second = readRun(client);
    await new Promise((resolve) => setImmediate(resolve));
    set = 7_200_000;
    clock.advance(6_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.requests).toHaveLength(1);
    set = -7_200_000;
    clock.advance(300);
    expect(await second).toMatchObject({ run });
  });

  it.each<[string, Headers, number[]]>([
    ['in the past', { 'ratelimit-reset': seconds(-5_000) }, []],
    ['delta seconds', { 'ratelimit-reset': '5' }, [6_300]],
    ['milliseconds', { 'ratelimit-reset': String(now + 5_000) }, [6_300]],
    ['negative', { 'ratelimit-reset': '-5' }, []],
    ['text', { 'ratelimit-reset': 'soon' }, []],
    ['a fraction', { 'ratelimit-reset': '5.5' }, []],
    ['a list', { 'ratelimit-reset': [seconds(5_000), '9'] }, [6_300]],
    ['years away', { 'ratelimit-reset': seconds(5e10) }, []],
    ['right, but Remaining is not', { 'ratelimit-reset': seconds(5_000), 'ratelimit-remaining': '-1' }, []],
    ['right, but Limit is not', { 'ratelimit-reset': seconds(5_000), 'ratelimit-limit': 'many' }, []],
  ])('Reset %s', async (_, headers, waitTimes) => {
    const step = successWith({ 'ratelimit-remaining': '0', 'ratelimit-limit': '100', date: date(), ...headers });
    expect(await outcomeOf(askTwice, [step, success])).toMatchObject({ exit: 0, attempts: 2, waitTimes });
  });

  it('a 429 although Remaining is positive closes the gate for all requests', async () => {
    const server = await scriptedServer(
      rateLimitAnswer({ 'retry-after': '3', 'ratelimit-remaining': '7', 'ratelimit-reset': seconds(60_000), date: date() }),
    );
    server.always(success);
    const { client, clock, events } = newClient(server.url, { hold: true });
    const first = readRun(client);
    await eventually('the client waits', () => events.some(({ type }) => type === 'rate_limit.waiting'));
    const second = readRun(client);
    clock.advance(2_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.requests).toHaveLength(1);
    clock.advance(151);
    await Promise.all([first, second]);
    expect(server.requests).toHaveLength(3);
  });

  it('answers out of order at the end of a window', async () => {
    const lateLimit = { resetAt: now + 5_000, sentAt: now, remaining: 0 };
    const { RateGate } = await import('../../src/client/limits/rate-gate.ts');
    const { ManualClock } = await import('../service/helpers/clock.ts');
    const clock = new ManualClock(now);
    const gate = new RateGate(clock, () => 0);
    const observe = (remaining: number, resetAt: number, sentAt: number) =>
      gate.observe(
        { 'ratelimit-remaining': String(remaining), 'ratelimit-reset': String(resetAt / 1_000), date: new Date(clock.now()).toUTCString() },
        sentAt,
        clock.now(),
      );
    observe(1, lateLimit.resetAt, now);
    // Newer answers may arrive first: the smallest number is the newest.
    observe(3, lateLimit.resetAt, now);
    expect([gate.enter().next, gate.enter().next]).toEqual(['go', 'busy']);
    gate.leave();
    observe(0, lateLimit.resetAt, now);
    expect(gate.enter()).toEqual({ next: 'hold', milliseconds: 6_000, requestedMilliseconds: 6_000 });
    clock.advance(6_000);
    // The window has ended: one request goes ahead. An answer of the old window that arrives now does not open the gate.
    expect(gate.enter().next).toBe('go');
    observe(4, lateLimit.resetAt, now + 4_000);
    expect(gate.enter().next).toBe('busy');
    observe(2, now + 65_000, now + 6_000);
    gate.leave();
    expect([gate.enter().next, gate.enter().next, gate.enter().next]).toEqual(['go', 'go', 'busy']);
    // Nor does an answer of an older window close it again, or delay it.
    observe(0, lateLimit.resetAt, now);
    gate.leave();
    expect(gate.enter().next).toBe('go');
  });

  /** A service with a fixed window: a number of requests per ten seconds. */
  function serveWindow(
    server: RawServer,
    clock: () => WaitClock,
    limit: number,
  ): { refusalCount: () => number; windows: Map<string, number> } {
    const windows = new Map<string, number>();
    let refusals = 0;
    server.always(
      reply(({ headers }) => {
        const time = clock().now();
        const window = Math.floor(time / 10_000);
        const name = `${headers.authorization} ${window}`;
        const count = (windows.get(name) ?? 0) + 1;
        windows.set(name, count);
        const limitHeaders = {
          'ratelimit-limit': String(limit),
          'ratelimit-remaining': String(Math.max(0, limit - count)),
          'ratelimit-reset': String((window + 1) * 10),
          date: new Date(time).toUTCString(),
        };
        if (count <= limit) return successWith(limitHeaders);
        refusals += 1;
        return rateLimitAnswer({ ...limitHeaders, 'retry-after': '10' });
      }),
    );
    return { refusalCount: () => refusals, windows };
  }

  it('20 concurrent requests, limit 5: never more than 5 in a window, and no 429', async () => {
    const server = await scriptedServer();
    const { client, clock, events } = newClient(server.url);
    const { refusalCount, windows } = serveWindow(server, () => clock, 5);
    await Promise.all(Array.from({ length: 20 }, () => readRun(client)));
    expect(refusalCount()).toBe(0);
    expect([...windows.values()]).toEqual([5, 5, 5, 5]);
    // Reported once for each wait, not once for each request.
    expect(events.filter(({ type }) => type === 'rate_limit.waiting')).toHaveLength(3);
    expect(events.filter(({ type }) => type === 'rate_limit.resumed')).toHaveLength(3);
  });

  it('after a 429 one request goes ahead before the others', async () => {
    const server = await scriptedServer(rateLimitAnswer({ 'retry-after': '1' }), rateLimitAnswer({ 'retry-after': '1' }));
    server.always(success);
    const { client, clock } = newClient(server.url);
    await Promise.all(Array.from({ length: 10 }, () => readRun(client)));
    // If all of them had been sent at the same time, the second 429 would have affected nine more.
    expect(clock.waitTimes).toHaveLength(2);
    expect(server.requests).toHaveLength(12);
  });

  it('two credentials in parallel: a limited one does not delay the other', async () => {
    const server = await scriptedServer();
    const firstClient = newClient(server.url, { credential: bearerCredential('one'), hold: true });
    serveWindow(server, () => firstClient.clock, 1);
    const otherHarness = newClient(server.url, { credential: bearerCredential('other') });
    await readRun(firstClient.client);
    const heldRead = readRun(firstClient.client);
    expect(await readRun(otherHarness.client)).toMatchObject({ run });
    expect(server.requests).toHaveLength(2);
    firstClient.clock.advance(12_000);
    await heldRead;
  });
});
