/** Waits for the rate limit become events of what is watched, as soon as they begin. */
import { expect, it } from 'vitest';
import { rateLimitWaiting, withWaits } from '../../src/watch/rate-limit-waits.ts';
import { failureOf } from '../client/harness.ts';
import { afterTest } from '../support/temporary.ts';

const clock = { now: () => Date.parse('2026-07-18T09:00:00.000Z'), sleep: async () => undefined };

/** A client whose waits, and a source whose events, are sent by the test. */
function controlledSource() {
  const listeners = new Set<(milliseconds: number) => void>();
  const pending: { resolve: (text: string) => void; reject: (error: Error) => void }[] = [];
  let isClosed = false;
  async function* source(): AsyncGenerator<string, void, undefined> {
    try {
      for (;;) {
        const text = await new Promise<string>((resolve, reject) => pending.push({ resolve, reject }));
        if (text === 'end') return;
        yield text;
      }
    } finally {
      isClosed = true;
    }
  }
  const client = {
    onWaiting: (listener: (milliseconds: number) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return {
    events: withWaits(client as never, clock, source()),
    send: (text: string) => pending.shift()?.resolve(text),
    fail: (error: Error) => pending.shift()?.reject(error),
    wait: (milliseconds: number) => {
      for (const listener of listeners) listener(milliseconds);
    },
    state: () => ({ listeners: listeners.size, isClosed }),
  };
}

const waitEvent = (wait_seconds: number) => ({
  type: 'rate_limit.waiting',
  data: { wait_seconds, until: expect.stringMatching(/^2026-07-18T09:00:\d\d/) },
});

it('contains the seconds, rounded up, and the time at which it ends', () => {
  expect(rateLimitWaiting(clock, 2_400)).toEqual({
    type: 'rate_limit.waiting',
    data: { wait_seconds: 3, until: '2026-07-18T09:00:02.400Z' },
  });
});

it('is reported before the event that it delays', async () => {
  const { events, send, wait, state } = controlledSource();
  const first = events.next();
  wait(1_000);
  wait(2_000);
  expect(await first).toEqual({ value: waitEvent(1), done: false });
  expect(await events.next()).toEqual({ value: waitEvent(2), done: false });
  const second = events.next();
  send('news');
  expect(await second).toEqual({ value: 'news', done: false });
  wait(3_000);
  expect(await events.next()).toEqual({ value: waitEvent(3), done: false });
  const end = events.next();
  send('end');
  expect(await end).toEqual({ value: undefined, done: true });
  expect(state()).toEqual({ listeners: 0, isClosed: true });
});

it('is reported even if the event arrives at the same moment', async () => {
  const { events, send, wait } = controlledSource();
  const first = events.next();
  send('news');
  wait(1_000);
  expect(await first).toEqual({ value: waitEvent(1), done: false });
  expect(await events.next()).toEqual({ value: 'news', done: false });
});

it('does not hide the failure of its source', async () => {
  const { events, fail, state } = controlledSource();
  const first = events.next();
  const failure = new Error('gone');
  fail(failure);
  expect(await failureOf(first)).toBe(failure);
  expect(state()).toEqual({ listeners: 0, isClosed: true });
});

it('closes its source when nobody reads on', async () => {
  const { events, send, state } = controlledSource();
  const first = events.next();
  send('news');
  await first;
  await events.return();
  await new Promise((resolve) => setImmediate(resolve));
  expect(state()).toEqual({ listeners: 0, isClosed: true });
});

it('does not wait for its source when nobody reads on, nor report its later failure', async () => {
  const unhandledErrors: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandledErrors.push(error);
  process.on('unhandledRejection', onUnhandled);
  afterTest(() => void process.removeListener('unhandledRejection', onUnhandled));
  const { events, fail, wait, state } = controlledSource();
  const first = events.next();
  wait(1_000);
  await first;
  await events.return();
  expect(state().listeners).toBe(0);
  fail(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(state().isClosed).toBe(true);
  expect(unhandledErrors).toEqual([]);
});
