/** When the gate admits requests, on a clock that the test controls. */
import { describe, expect, it } from 'vitest';
import { RateGate } from '../../../src/client/limits/rate-gate.ts';
import { httpDate, readLimits, resetWait, retryAfter, spread } from '../../../src/client/limits/rate-limit.ts';
import { ServerClock } from '../../../src/client/limits/server-clock.ts';
import { type SharedEntry, SharedLimits } from '../../../src/client/limits/shared-limits.ts';
import { ManualClock } from '../../service/helpers/clock.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const start = Date.parse('2026-07-18T09:00:00.000Z');
const day = 24 * 60 * 60 * 1_000;

function newGate({ random = () => 0, shared }: { random?: () => number; shared?: SharedLimits } = {}) {
  const clock = new ManualClock();
  const gate = new RateGate(clock, random, shared);
  /** A response that arrives without delay; `reset` in milliseconds after the start. */
  const observe = (remaining: number, reset: number, { limit, date = start }: { limit?: number; date?: number } = {}): void =>
    gate.observe(
      {
        'ratelimit-remaining': String(remaining),
        'ratelimit-reset': String((start + reset) / 1_000),
        ...(limit === undefined ? {} : { 'ratelimit-limit': String(limit) }),
        date: new Date(date).toUTCString(),
      },
      clock.now(),
      clock.now(),
    );
  return { clock, gate, observe };
}

const holdDecision = (milliseconds: number, requestedMilliseconds = milliseconds) => ({
  next: 'hold',
  milliseconds,
  requestedMilliseconds,
});
const goDecision = { next: 'go' };
const busyDecision = { next: 'busy' };

describe('the gate', () => {
  it('sends one request ahead to learn about the limit, and all requests if the service has no limit', () => {
    const { gate, clock } = newGate();
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, busyDecision]);
    gate.leave();
    expect(gate.enter()).toEqual(goDecision);
    gate.observe({}, clock.now(), clock.now());
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, goDecision]);
  });

  it('admits as many requests as remain, and holds the others until the window ends', () => {
    const { gate, observe, clock } = newGate();
    observe(2, 30_000);
    expect([gate.enter(), gate.enter(), gate.enter()]).toEqual([goDecision, goDecision, busyDecision]);
    gate.leave();
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, busyDecision]);
    observe(0, 30_000);
    gate.leave();
    expect(gate.enter()).toEqual(busyDecision);
    gate.leave();
    expect(gate.enter()).toEqual(holdDecision(31_000));
    clock.advance(30_997);
    expect(gate.enter()).toEqual(holdDecision(3));
    // Timers may end this much early.
    clock.advance(1);
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, busyDecision]);
  });

  it('adds jitter to the wait, but not to what the service requests', () => {
    const { gate, observe } = newGate({ random: () => 1 });
    observe(0, 29_000);
    expect(gate.enter()).toEqual(holdDecision(33_000, 30_000));
  });

  it('waits a second longer if it does not know the time of the service', () => {
    const { gate, clock } = newGate();
    gate.observe({ 'ratelimit-remaining': '0', 'ratelimit-reset': '5' }, clock.now(), clock.now());
    expect(gate.enter()).toEqual(holdDecision(7_000));
  });

  it.each([
    ['a smaller number in the same window', [3, 30_000], [1, 30_000], { remaining: 1, milliseconds: 31_000 }],
    ['a larger number in the same window', [1, 30_000], [3, 30_000], { remaining: 1, milliseconds: 31_000 }],
    ['a larger number in a later window', [1, 30_000], [3, 31_000], { remaining: 3, milliseconds: 32_000 }],
    ['a smaller number in an earlier window', [3, 31_000], [1, 30_000], { remaining: 3, milliseconds: 32_000 }],
  ] as const)('after %s knows what remains', (_, first, second, allowance) => {
    const { gate, observe } = newGate();
    for (const [remaining, reset] of [first, second]) observe(remaining, reset, { limit: 100 });
    expect(gate.allowance).toEqual({ ...allowance, limit: 100 });
    for (let count = 0; count < allowance.remaining; count += 1) expect(gate.enter()).toEqual(goDecision);
    expect(gate.enter()).toEqual(busyDecision);
    for (let count = 0; count < allowance.remaining; count += 1) gate.leave();
    observe(0, Math.max(first[1], second[1]));
    expect(gate.enter()).toEqual(holdDecision(allowance.milliseconds));
  });

  it.each([
    ['in seconds from now and 1.5 s later', '30', String(start + 31_500), [1, 31_000]],
    ['in seconds from now and more than 1.5 s later', '30', String(start + 31_501), [1, 32_501]],
    ['in seconds from now and 1.5 s earlier', '30', String(start + 28_500), [1, 31_000]],
    ['in seconds from now and more than 1.5 s earlier', '30', String(start + 28_499), [3, 31_000]],
    ['at a time and one second later, in seconds from now', String(start + 30_000), '31', [1, 31_000]],
    ['at a time and at the same time', String(start + 30_000), String(start + 30_000), [1, 31_000]],
    ['at a time and later', String(start + 30_000), String(start + 30_001), [1, 31_001]],
    ['at a time and earlier', String(start + 30_000), String(start + 29_999), [3, 31_000]],
  ])('tells windows apart that end %s', (_, first, second, expected) => {
    const { gate, clock } = newGate();
    for (const [remaining, end] of [
      ['3', first],
      ['1', second],
    ]) {
      const headers = {
        'ratelimit-remaining': remaining,
        'ratelimit-reset': end,
        'ratelimit-limit': '9',
        date: new Date(start).toUTCString(),
      };
      gate.observe(headers, clock.now(), clock.now());
    }
    expect([gate.allowance?.remaining, gate.allowance?.milliseconds]).toEqual(expected);
  });

  it('keeps the limit for as long as the window, in case only some responses contain it', () => {
    const { gate, observe } = newGate();
    observe(3, 30_000, { limit: 9 });
    observe(2, 30_000);
    expect(gate.allowance).toMatchObject({ remaining: 2, limit: 9 });
    observe(1, 30_000, { limit: 8 });
    expect(gate.allowance).toMatchObject({ remaining: 1, limit: 8 });
    observe(7, 60_000);
    expect(gate.allowance).toBeUndefined();
  });

  it('forgets the allowance when the window ends', () => {
    const { gate, observe, clock } = newGate();
    expect(gate.allowance).toBeUndefined();
    observe(3, 30_000, { limit: 9 });
    clock.advance(30_999);
    expect(gate.allowance).toEqual({ remaining: 3, limit: 9, milliseconds: 1 });
    clock.advance(1);
    expect(gate.allowance).toBeUndefined();
  });

  it('ignores a window that has ended, and means no limit if it ended before the request', () => {
    const { gate, clock, observe } = newGate();
    observe(0, -1_000);
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, goDecision]);
    const exact = newGate();
    exact.observe(0, 0);
    expect(exact.gate.enter()).toEqual(holdDecision(1_000));
    const lateGate = newGate();
    lateGate.clock.advance(2_000);
    const headers = { 'ratelimit-remaining': '0', 'ratelimit-reset': String(start / 1_000), date: new Date(start + 1_000).toUTCString() };
    lateGate.gate.observe(headers, start, start + 2_000);
    expect([lateGate.gate.enter(), lateGate.gate.enter()]).toEqual([goDecision, busyDecision]);
    const slowGate = newGate();
    slowGate.clock.advance(4_000);
    // The window ended while the request was in flight, so the next one is sent ahead again.
    slowGate.gate.observe(
      { 'ratelimit-remaining': '0', 'ratelimit-reset': String(start / 1_000 + 1), date: new Date(start + 2_000).toUTCString() },
      slowGate.clock.now() - 4_000,
      slowGate.clock.now(),
    );
    expect([slowGate.gate.enter(), slowGate.gate.enter()]).toEqual([goDecision, busyDecision]);
    expect(clock.now()).toBe(start);
  });

  it('learns again after each window, since a service without a limit may have one now', () => {
    const { gate, clock, observe } = newGate();
    gate.observe({}, clock.now(), clock.now());
    observe(5, 1_000);
    clock.advance(2_000);
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, busyDecision]);
  });

  it('wakes waiting requests when one completes, and when a response arrives', async () => {
    const { gate, clock } = newGate();
    gate.enter();
    const wokenNames: string[] = [];
    const changes = ['first', 'second'].map((name) => gate.change().then(() => wokenNames.push(name)));
    gate.observe({}, clock.now(), clock.now());
    await Promise.all(changes);
    const third = gate.change().then(() => wokenNames.push('third'));
    gate.leave();
    await third;
    expect(wokenNames).toEqual(['first', 'second', 'third']);
  });
});

describe('a 429', () => {
  it('holds all requests, and sends one ahead afterwards', () => {
    const { gate, observe, clock } = newGate();
    observe(9, 60_000);
    gate.close(5_000);
    expect(gate.enter()).toEqual(holdDecision(5_000));
    clock.advance(4_997);
    expect(gate.enter()).toEqual(holdDecision(3));
    clock.advance(1);
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, busyDecision]);
    // What the service then reports applies again.
    observe(9, 90_000);
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, goDecision]);
  });

  it('that requests a shorter pause does not shorten a longer one, and a longer one extends it', () => {
    const { gate } = newGate();
    gate.close(20_000);
    gate.close(5_000);
    expect(gate.enter()).toEqual(holdDecision(20_000));
    gate.close(30_000);
    expect(gate.enter()).toEqual(holdDecision(30_000));
  });

  it('holds requests even if the service reported no limit', () => {
    const { gate, clock } = newGate({ random: () => 1 });
    gate.observe({}, clock.now(), clock.now());
    gate.close(10_000);
    expect(gate.enter()).toEqual(holdDecision(11_000, 10_000));
    clock.advance(10_500);
    expect(gate.enter()).toEqual(holdDecision(500, 0));
    clock.advance(500);
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, busyDecision]);
  });
});

describe('what another process knows', () => {
  const entry = (overrides: Partial<SharedEntry> = {}): SharedEntry => ({
    remaining: 0,
    resetAt: start + 10_000,
    ahead: 0,
    seenAt: start,
    ...overrides,
  });
  const sharing = async () => {
    const folder = await temporaryFolder();
    const otherLimits = new SharedLimits(folder, ['x']);
    return { otherLimits, ...newGate({ shared: new SharedLimits(folder, ['x']) }) };
  };

  it('is read at most once a second', async () => {
    const { otherLimits, gate, clock } = await sharing();
    expect(gate.enter()).toEqual(goDecision);
    gate.leave();
    otherLimits.write(entry());
    clock.advance(999);
    expect(gate.enter()).toEqual(goDecision);
    gate.leave();
    clock.advance(1);
    expect(gate.enter()).toEqual(holdDecision(10_000));
  });

  it('limits the requests of this one', async () => {
    const { otherLimits, gate } = await sharing();
    otherLimits.write(entry({ remaining: 2, ahead: 2_000 }));
    expect([gate.enter(), gate.enter(), gate.enter()]).toEqual([goDecision, goDecision, busyDecision]);
    expect(gate.server.now()).toBe(start + 2_000);
  });

  it.each([
    ['at most a day away', day, holdDecision(day + 1_000)],
    ['further away', day + 1, goDecision],
  ])('is used if the end of its window is %s', async (_, resetIn, expected) => {
    const { otherLimits, gate } = await sharing();
    otherLimits.write(entry({ resetAt: start + resetIn }));
    expect(gate.enter()).toEqual(expected);
  });

  it('is ignored if the window has ended by the time of the service', async () => {
    const { otherLimits, gate, clock } = await sharing();
    otherLimits.write(entry({ remaining: 1, resetAt: start + 10_000 }));
    gate.observe({ date: new Date(start + 11_000).toUTCString() }, clock.now(), clock.now());
    expect([gate.enter(), gate.enter()]).toEqual([goDecision, goDecision]);
  });

  it('is used if the window ends in this moment by the time of the service', async () => {
    const { otherLimits, gate, clock } = await sharing();
    otherLimits.write(entry({ resetAt: start + 10_000 }));
    gate.observe({ date: new Date(start + 10_000).toUTCString() }, clock.now(), clock.now());
    expect(gate.enter()).toEqual(holdDecision(1_000));
  });

  it('does not replace what this process learns about a later window', async () => {
    const { otherLimits, gate, observe } = await sharing();
    otherLimits.write(entry({ remaining: 5 }));
    gate.enter();
    observe(9, 11_000, { limit: 100 });
    expect(gate.allowance).toMatchObject({ remaining: 9, milliseconds: 12_000 });
  });

  it('includes what this process learns, if few requests remain', async () => {
    const { otherLimits, gate, observe } = await sharing();
    observe(17, 30_000);
    expect(otherLimits.read(start)).toBeUndefined();
    observe(16, 30_000, { date: start + 5_000 });
    expect(otherLimits.read(start)).toEqual({ v: 1, remaining: 16, resetAt: start + 30_000, ahead: 5_000, seenAt: start });
    gate.close(7_000);
    expect(otherLimits.read(start)).toEqual({ v: 1, remaining: 0, resetAt: start + 12_000, ahead: 5_000, seenAt: start });
  });
});

describe("the service's clock", () => {
  const date = (offset: number) => new Date(start + offset).toUTCString();

  it('is the local one until a response arrives', () => {
    const clock = new ManualClock();
    const server = new ServerClock(clock);
    expect([server.isKnown, server.now()]).toEqual([false, start]);
    server.observe('yesterday', start, start);
    server.observe(undefined, start, start);
    expect(server.isKnown).toBe(false);
    server.observe(date(60_000), start - 2_000, start);
    expect([server.isKnown, server.now(), server.timeAt(start - 500)]).toEqual([true, start + 61_000, start + 60_500]);
  });

  it.each([
    ['follows a faster response', 200, 0, true],
    ['follows a response that is as fast', 400, 0, true],
    ['ignores a slower response', 600, 0, false],
    ['ignores a slower response for five minutes', 600, 5 * 60_000, false],
    ['follows a slower response after more than five minutes', 600, 5 * 60_000 + 1, true],
  ])('%s', (_, roundTrip, later, isAdopted) => {
    const server = new ServerClock(new ManualClock());
    server.observe(date(60_000), start - 400, start);
    server.observe(date(61_000 + later), start + later - roundTrip, start + later);
    const laterDate = Math.floor(later / 1_000) * 1_000;
    expect(server.timeAt(start)).toBe(start + (isAdopted ? 61_000 + laterDate - later + roundTrip / 2 : 60_200));
  });

  it.each([
    [0, false],
    [1, true],
  ])('follows a slower response if no delay explains the difference (%i ms more)', (extraDelay, isAdopted) => {
    const server = new ServerClock(new ManualClock());
    server.observe(date(60_000), start - 400, start);
    server.observe(date(62_000), start - 500 - extraDelay, start + 100 - extraDelay);
    expect(server.timeAt(start)).toBe(start + (isAdopted ? 62_200 + extraDelay : 60_200));
    const slowedClock = new ServerClock(new ManualClock());
    slowedClock.observe(date(60_000), start - 400, start);
    slowedClock.observe(date(58_000), start - 500 + extraDelay, start + 100 + extraDelay);
    expect(slowedClock.timeAt(start)).toBe(start + (isAdopted ? 58_200 - extraDelay : 60_200));
  });

  it('adopts the offset of another process until there is a response', () => {
    const server = new ServerClock(new ManualClock());
    server.assume(7_000);
    expect([server.isKnown, server.now()]).toEqual([true, start + 7_000]);
    server.observe(date(8_000), start - 900, start);
    expect(server.now()).toBe(start + 8_450);
    server.assume(7_000);
    expect(server.now()).toBe(start + 8_450);
  });
});

describe('a header', () => {
  const limits = (remaining: unknown, reset: unknown, limit?: string) =>
    readLimits(
      {
        'ratelimit-remaining': remaining as string,
        'ratelimit-reset': reset as string,
        ...(limit === undefined ? {} : { 'ratelimit-limit': limit }),
      },
      start,
    );

  it.each<[string, unknown, object | undefined]>([
    ['Unix seconds', limits('3', String(start / 1_000 + 9)), { remaining: 3, resetAt: start + 9_000, exact: true }],
    ['Unix milliseconds', limits('3', String(start + 9_000)), { remaining: 3, resetAt: start + 9_000, exact: true }],
    ['seconds from now', limits(' 3 ', ' 9 '), { remaining: 3, resetAt: start + 9_000, exact: false }],
    ['a day from now', limits('3', '86400'), { remaining: 3, resetAt: start + day, exact: false }],
    ['more than a day from now', limits('3', '86401'), undefined],
    ['a past time', limits('3', '1000000000'), { remaining: 3, resetAt: 1e12, exact: true }],
    ['a time that is too late', limits('3', '100000000000'), undefined],
    ['a limit', limits('3', '9', '100'), { remaining: 3, limit: 100, resetAt: start + 9_000, exact: false }],
    ['a limit with its policy', limits('3', '9', '100, 100;w=60'), { remaining: 3, limit: 100, resetAt: start + 9_000, exact: false }],
    ['an unreadable limit', limits('3', '9', 'many'), undefined],
    ['no end', limits('3', undefined), undefined],
    ['no number', limits(undefined, '9'), undefined],
    ['a number that is too long', limits('12345678901234567', '9'), undefined],
    ['a list', limits(['3', '4'], ['9', '8']), { remaining: 3, resetAt: start + 9_000, exact: false }],
  ])('of a limit with %s is read', (_, actual, expected) => {
    expect(actual).toEqual(expected);
  });

  it.each<[string | undefined, number | undefined]>([
    ['Sat, 18 Jul 2026 09:00:10 GMT', start + 10_000],
    ['Saturday, 18-Jul-26 09:00:10 GMT', start + 10_000],
    ['Sat Jul 18 09:00:10 2026', start + 10_000],
    ['Sat, 99 Jul 2026 09:00:10 GMT', undefined],
    ['2026-07-18T09:00:10Z', undefined],
    ['10', undefined],
    [undefined, undefined],
  ])('with the date %j is read', (text, expected) => {
    expect(httpDate(text)).toBe(expected);
  });

  it.each<[string | undefined, number | undefined]>([
    ['2', 2_000],
    [' 1.5 ', 1_500],
    ['4, 60', 4_000],
    ['0', 0],
    ['4 s', undefined],
    ['12345678901', undefined],
    ['Sat, 18 Jul 2026 09:00:10 GMT', 10_000],
    ['Sat, 18 Jul 2026 08:00:10 GMT', 0],
    ['', undefined],
    [undefined, undefined],
  ])('with the pause %j is read', (text, expected) => {
    expect(retryAfter({ 'retry-after': text }, start)).toBe(expected);
  });

  it('with a date is read as GMT in every time zone', () => {
    const zone = process.env.TZ;
    process.env.TZ = 'America/New_York';
    try {
      for (const text of ['Sat, 18 Jul 2026 09:00:10 GMT', 'Sat Jul 18 09:00:10 2026']) expect(httpDate(text)).toBe(start + 10_000);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('with the end of the window becomes a pause', () => {
    expect(resetWait({ 'ratelimit-reset': '9' }, start)).toBe(9_000);
    expect(resetWait({ 'ratelimit-reset': String(start / 1_000 - 9) }, start)).toBe(0);
    expect(resetWait({}, start)).toBeUndefined();
  });

  it('of a pause is spread by a tenth, and by at most five seconds', () => {
    expect(spread(2_000, () => 1)).toBe(2_200);
    expect(spread(2_000, () => 0.5)).toBe(2_100);
    expect(spread(50_000, () => 1)).toBe(55_000);
    expect(spread(600_000, () => 1)).toBe(605_000);
  });
});
