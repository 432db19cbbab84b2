/** Work that is interrupted: how long it is waited for, what it results in, and what is left behind. */
import { getEventListeners } from 'node:events';
import { beforeEach, expect, it, vi } from 'vitest';
import { unlessAborted } from '../../../../src/service/engine/jobs/unless-aborted.ts';
import { afterTest } from '../../../support/temporary.ts';

const reason = new Error('stopped');

/** Work that the test ends. */
function pendingWork() {
  const controller = new AbortController();
  let [resolve, reject] = [(_: string) => {}, (_: Error) => {}];
  const work = new Promise<string>((onResolve, onReject) => {
    [resolve, reject] = [onResolve, onReject];
  });
  return { work, resolve, reject, controller, listeners: () => getEventListeners(controller.signal, 'abort').length };
}

/** Lets everything happen that needs no more time. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Notes how a promise settles. */
function outcomeOf(promise: Promise<unknown>): unknown[] {
  const outcomes: unknown[] = [];
  promise.then(
    (value) => outcomes.push(value),
    (error) => outcomes.push(error),
  );
  return outcomes;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  afterTest(() => vi.useRealTimers());
});

it('work that is not aborted has its own outcome', async () => {
  const signal = new AbortController().signal;
  expect(await unlessAborted(Promise.resolve('done'), signal)).toBe('done');
  expect(await unlessAborted(Promise.resolve(undefined), signal)).toBe(undefined);
  await expect(unlessAborted(Promise.reject(new Error('broken')), signal)).rejects.toThrow('broken');
  expect([getEventListeners(signal, 'abort').length, vi.getTimerCount()]).toEqual([0, 0]);
});

it.each(['resolves', 'rejects'])('work that is aborted is waited for until it %s', async (end) => {
  const { work, resolve, reject, controller, listeners } = pendingWork();
  const outcomes = outcomeOf(unlessAborted(work, controller.signal));
  controller.abort(reason);
  await turn();
  vi.advanceTimersByTime(1_999);
  await turn();
  expect(outcomes).toEqual([]);
  if (end === 'resolves') resolve('done');
  else reject(new Error('broken'));
  await turn();
  expect([outcomes, listeners(), vi.getTimerCount()]).toEqual([[reason], 0, 0]);
});

it('work that does not end is no longer waited for after two seconds, and can then fail unnoticed', async () => {
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => failures.push(error);
  process.on('unhandledRejection', onFailure);
  afterTest(() => void process.off('unhandledRejection', onFailure));
  const { work, reject, controller } = pendingWork();
  const outcomes = outcomeOf(unlessAborted(work, controller.signal));
  controller.abort(reason);
  await turn();
  vi.advanceTimersByTime(2_000);
  await turn();
  expect(outcomes).toEqual([reason]);
  reject(new Error('late'));
  await turn();
  expect(failures).toEqual([]);
});

it('work that began after the abort is waited for in the same way', async () => {
  const { work, controller } = pendingWork();
  controller.abort(reason);
  const outcomes = outcomeOf(unlessAborted(work, controller.signal));
  await turn();
  vi.advanceTimersByTime(2_000);
  await turn();
  expect(outcomes).toEqual([reason]);
});
