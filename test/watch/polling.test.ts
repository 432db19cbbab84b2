/** Polling: how often, through which failures, and what counts as news. */
import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client/client.ts';
import { UnavailableError } from '../../src/client/errors.ts';
import { NoStreamError } from '../../src/client/event-streams.ts';
import { maxOutageMilliseconds, type Outage } from '../../src/watch/outage-tracker.ts';
import { Pace } from '../../src/watch/pace.ts';
import { callAtPace, pollEvents, retryThroughOutages } from '../../src/watch/polling.ts';
import { RetryingStream } from '../../src/watch/streamed.ts';
import { failureOf } from '../client/harness.ts';

const inertSignal = new AbortController().signal;
const unreachableError = (): UnavailableError => new UnavailableError('The service cannot be reached.', {});

/** A clock that advances only by sleeping. */
function sleepingClock() {
  const clock = {
    elapsedTime: 0,
    pauses: [] as number[],
    now: () => Date.parse('2026-07-18T09:00:00.000Z') + clock.elapsedTime,
    steady: () => clock.elapsedTime,
    async sleep(milliseconds: number, signal?: AbortSignal) {
      signal?.throwIfAborted();
      clock.pauses.push(Math.round(milliseconds));
      clock.elapsedTime += milliseconds;
    },
  };
  return clock;
}

type Body = { type: 'news' | 'end' };
/** What a poll does: it fails, or finds these events. */
type Poll = Error | Body['type'][];

/** The events and pauses of these polls, of which the last finds the end. */
function pollWith(polls: readonly Poll[], allowances: readonly (object | undefined)[] = []) {
  const clock = sleepingClock();
  const outages: (Outage | undefined)[] = [];
  let count = 0;
  const client = {
    onWaiting: () => () => undefined,
    call: async () => ({}),
    get allowance() {
      return allowances[count - 1];
    },
  } as unknown as Client;
  async function* poll(): AsyncGenerator<Body, void, undefined> {
    const currentPoll = polls[count];
    count += 1;
    if (currentPoll instanceof Error) throw currentPoll;
    for (const type of currentPoll ?? []) yield { type };
  }
  const events: unknown[] = [];
  const pollAll = async (): Promise<void> => {
    const onOutage = (outage: Outage | undefined): void => void outages.push(outage);
    for await (const body of pollEvents<Body>(
      client,
      { clock, signal: inertSignal, pace: new Pace(clock, { random: () => 0.5 }), onOutage },
      poll,
    )) {
      events.push(body.type === 'rate_limit.waiting' ? body.data : body.type);
      if (body.type === 'end') return;
    }
  };
  return { end: pollAll(), clock, events, outages };
}

describe('polling', () => {
  it('pauses longer after each poll without news', async () => {
    const { end, clock, events } = pollWith([[], [], ['news', 'news'], [], ['end']]);
    await end;
    expect(clock.pauses).toEqual([476, 666, 340, 476]);
    expect(events).toEqual(['news', 'news', 'end']);
  });

  it('continues through a short outage, whose start and end are reported', async () => {
    const { end, clock, outages } = pollWith([
      [],
      unreachableError(),
      unreachableError(),
      unreachableError(),
      [],
      unreachableError(),
      ['end'],
    ]);
    const startTime = clock.now();
    await end;
    expect(outages).toEqual([{ since: expect.any(Number), reason: 'The service cannot be reached.' }, undefined]);
    expect(outages[0]?.since).toBeGreaterThan(startTime);
  });

  it('regards events as an answer even if the poll fails later', async () => {
    const clock = sleepingClock();
    const outages: (Outage | undefined)[] = [];
    let count = 0;
    async function* poll(): AsyncGenerator<Body, void, undefined> {
      count += 1;
      if (count === 4) yield { type: 'end' };
      if (count === 3) yield { type: 'news' };
      throw unreachableError();
    }
    const client = { onWaiting: () => () => undefined, call: async () => ({}) } as unknown as Client;
    for await (const { type } of pollEvents<Body>(client, { clock, signal: inertSignal, onOutage: (outage) => outages.push(outage) }, poll))
      if (type === 'end') break;
    expect(outages).toEqual([expect.objectContaining({ reason: 'The service cannot be reached.' }), undefined]);
    // The pause after the news is the shortest.
    expect(clock.pauses).toEqual([476, 666, 340]);
  });

  it('does not regard a wait for the rate limit as an answer or as news', async () => {
    const clock = sleepingClock();
    const outages: (Outage | undefined)[] = [];
    let hold: (milliseconds: number) => void = () => undefined;
    const onWaiting = (listener: typeof hold) => {
      hold = listener;
      return () => undefined;
    };
    let count = 0;
    async function* poll(): AsyncGenerator<Body, void, undefined> {
      count += 1;
      if (count === 4) return yield { type: 'end' };
      hold(1_000);
      throw unreachableError();
    }
    const types: string[] = [];
    for await (const { type } of pollEvents<Body>(
      { onWaiting, call: async () => ({}) } as unknown as Client,
      { clock, signal: inertSignal, onOutage: (outage) => outages.push(outage) },
      poll,
    )) {
      types.push(type);
      if (type === 'end') break;
    }
    expect(types).toEqual([...Array.from({ length: 3 }, () => 'rate_limit.waiting'), 'end']);
    expect(outages).toEqual([expect.objectContaining({ reason: 'The service cannot be reached.' }), undefined]);
    expect(clock.pauses).toEqual([476, 666, 933]);
  });

  it('tries the stream again as soon as the service answers a poll', async () => {
    const clock = sleepingClock();
    const attempts: number[] = [];
    const open = async (): Promise<never> => {
      attempts.push(Math.round(clock.elapsedTime));
      throw new NoStreamError('busy', { wait: 60_000 });
    };
    const stream = new RetryingStream<Body>({ clock, open, bodies: () => [], random: () => 0 });
    let count = 0;
    async function* poll(): AsyncGenerator<Body, void, undefined> {
      count += 1;
      if (count === 1) throw unreachableError();
      if (count === 4) yield { type: 'end' };
    }
    const client = { onWaiting: () => () => undefined, call: async () => ({}) } as unknown as Client;
    for await (const { type } of pollEvents<Body>(client, { clock, signal: inertSignal }, poll, { stream })) if (type === 'end') break;
    // The first poll fails and the second one succeeds.
    expect(clock.pauses).toEqual([476, 666, 933]);
    expect(attempts).toEqual([0, 476 + 666]);
  });

  it('ends after an outage of a minute, measured from its first failure', async () => {
    const { end, clock } = pollWith([[], ...Array.from({ length: 100 }, () => unreachableError())]);
    const before = clock.elapsedTime;
    expect(await failureOf(end)).toMatchObject({ code: 'service_unavailable' });
    expect(clock.elapsedTime - before).toBeGreaterThan(maxOutageMilliseconds);
    expect(clock.elapsedTime - before).toBeLessThan(maxOutageMilliseconds + 5_000);
  });

  it('measures each outage from its own start', async () => {
    const outage = Array.from({ length: 15 }, () => unreachableError());
    const { end, clock } = pollWith([...outage, [], ...outage, ['news'], ...outage, ['end']]);
    await end;
    expect(clock.elapsedTime).toBeGreaterThan(maxOutageMilliseconds + 20_000);
  });

  it('reports a wait for the rate limit before the pause, and only when it is one', async () => {
    const allowance = (remaining: number) => ({ remaining, limit: 1_000, milliseconds: 40_000 });
    const { end, clock, events } = pollWith([['news'], ['news'], [], ['end']], [undefined, allowance(100), allowance(99)]);
    await end;
    expect(events).toEqual(['news', 'news', { wait_seconds: 40, until: '2026-07-18T09:00:41.700Z' }, 'end']);
    expect(clock.pauses).toEqual([340, 1_360, 42_000]);
  });
});

describe('a call as part of polling', () => {
  it('is made once, with the signal of the command, and counts unless it catches up', async () => {
    const clock = sleepingClock();
    const calls: unknown[] = [];
    let requests = 0;
    const spend = async (_: AbortSignal, catchesUp = false): Promise<void> => {
      if (!catchesUp) requests += 1;
    };
    const pace = Object.assign(new Pace(clock), { spend });
    const call = callAtPace({ call: async (...args: unknown[]) => void calls.push(args) } as never, pace, inertSignal);
    const input = { params: { run_id: 'r1' } };
    await call('getRun', input);
    expect(requests).toBe(1);
    await call('getRun', input, {});
    expect(requests).toBe(2);
    await call('getRun', input, { catchesUp: true });
    expect(requests).toBe(2);
    expect(calls).toEqual(Array.from({ length: 3 }, () => ['getRun', input, { signal: inertSignal, once: true }]));
  });
});

describe('a poll that is repeated through outages', () => {
  /** A poll with these outcomes, one for each attempt, and what was reported. */
  function startRepeating(outcomes: readonly (Error | string)[]) {
    const clock = sleepingClock();
    const outages: (Outage | undefined)[] = [];
    let count = 0;
    const attempt = async (): Promise<string> => {
      const outcome = outcomes[count] ?? '';
      count += 1;
      if (outcome instanceof Error) throw outcome;
      return outcome;
    };
    const poll = retryThroughOutages(attempt, { clock, signal: inertSignal, onOutage: (outage) => outages.push(outage) });
    return { poll, clock, outages };
  }

  it('returns its result once the service answers', async () => {
    const { poll, clock, outages } = startRepeating([unreachableError(), unreachableError(), unreachableError(), 'first', 'second']);
    expect(await poll()).toBe('first');
    expect(await poll()).toBe('second');
    expect(outages).toEqual([expect.objectContaining({ since: Date.parse('2026-07-18T09:00:00.000Z') }), undefined]);
    expect(clock.pauses).toEqual([476, 666, 933]);
  });

  it('measures each outage from its own start', async () => {
    const outage = Array.from({ length: 15 }, () => unreachableError());
    const { poll, clock, outages } = startRepeating([...outage, 'first', ...outage, 'second']);
    expect([await poll(), await poll()]).toEqual(['first', 'second']);
    expect(clock.elapsedTime).toBeGreaterThan(maxOutageMilliseconds);
    expect(outages).toHaveLength(4);
  });

  it('fails after a minute, and immediately with errors that will not pass', async () => {
    const { poll, clock } = startRepeating(Array.from({ length: 100 }, () => unreachableError()));
    expect(await failureOf(poll())).toMatchObject({ code: 'service_unavailable' });
    expect(clock.elapsedTime).toBeGreaterThan(maxOutageMilliseconds);
    const otherError = new Error('It does not exist.');
    const immediateFailure = startRepeating([otherError]);
    expect(await failureOf(immediateFailure.poll())).toBe(otherError);
    expect(immediateFailure.clock.pauses).toEqual([]);
  });
});
