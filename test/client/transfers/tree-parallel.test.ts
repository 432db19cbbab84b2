import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Slots } from '../../../src/base/slots.ts';
import { inParallel } from '../../../src/client/transfers/parallel.ts';
import { failureOf } from '../harness.ts';

const { signal } = new AbortController();
const numbers = Array.from({ length: 30 }, (_, index) => index);

/** Counts the tasks that run at the same time. */
function gauge() {
  const activity = { current: 0, highest: 0 };
  const workFor = async (turns: number): Promise<void> => {
    activity.current += 1;
    activity.highest = Math.max(activity.highest, activity.current);
    for (let remaining = turns; remaining > 0; remaining -= 1) await turn();
    activity.current -= 1;
  };
  return { activity, workFor };
}

describe('work in parallel', () => {
  it('is started in order, a fixed number at a time, and its results keep their order', async () => {
    const { activity, workFor } = gauge();
    const startedNumbers: number[] = [];
    const results = await inParallel(numbers, 6, signal, async (number) => {
      startedNumbers.push(number);
      await workFor(30 - number);
      return number * 2;
    });
    expect(results).toEqual(numbers.map((number) => number * 2));
    expect([startedNumbers, activity.highest]).toEqual([numbers, 6]);
    expect(await inParallel([], 6, signal, async () => 1)).toEqual([]);
  });

  it('ends with the first failure, once all started tasks have ended', async () => {
    const { activity, workFor } = gauge();
    const startedNumbers: number[] = [];
    const reason = new Error('broken');
    const work = inParallel(numbers, 4, signal, async (number, eitherSignal) => {
      startedNumbers.push(number);
      await workFor(3);
      if (number === 5) throw reason;
      await workFor(3);
      eitherSignal.throwIfAborted();
    });
    expect(await failureOf(work)).toBe(reason);
    expect(activity.current).toBe(0);
    expect(startedNumbers.length).toBeLessThan(12);
  });

  it('ends when it is aborted', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    let startCount = 0;
    const work = inParallel(numbers, 2, controller.signal, async (number, eitherSignal) => {
      startCount += 1;
      if (number === 4) controller.abort(reason);
      await turn();
      eitherSignal.throwIfAborted();
    });
    expect(await failureOf(work)).toBe(reason);
    expect(startCount).toBeLessThan(8);
  });

  it('waits for a free slot, also after failures', async () => {
    const { activity, workFor } = gauge();
    const slots = new Slots(3);
    const work = numbers.map((number) =>
      slots.run(async () => {
        await workFor(2);
        if (number % 4 === 0) throw new Error('broken');
      }),
    );
    const outcomes = await Promise.allSettled(work);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(8);
    expect(activity).toEqual({ current: 0, highest: 3 });
  });

  it('does not start after an abort', async () => {
    const reason = new Error('enough');
    let startCount = 0;
    const work = inParallel(numbers, 2, AbortSignal.abort(reason), async () => {
      startCount += 1;
    });
    expect(await failureOf(work)).toBe(reason);
    expect(startCount).toBe(0);
  });

  it('can use a slot again', async () => {
    const slots = new Slots(1);
    expect([await slots.run(async () => 1), await slots.run(async () => 2)]).toEqual([1, 2]);
  });
});
