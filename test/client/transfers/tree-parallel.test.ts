import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inParallel, Slots } from '../../../src/client/transfers/parallel.ts';
import { failureOf } from '../harness.ts';

const { signal } = new AbortController();
const numbers = Array.from({ length: 30 }, (_, index) => index);

/** Counts the tasks that run at the same time. */
function gauge() {
  const seen = { now: 0, most: 0 };
  const busy = async (turns: number): Promise<void> => {
    seen.now += 1;
    seen.most = Math.max(seen.most, seen.now);
    for (let left = turns; left > 0; left -= 1) await turn();
    seen.now -= 1;
  };
  return { seen, busy };
}

describe('work in parallel', () => {
  it('is started in order, a fixed number at a time, and its results keep their order', async () => {
    const { seen, busy } = gauge();
    const begun: number[] = [];
    const results = await inParallel(numbers, 6, signal, async (number) => {
      begun.push(number);
      await busy(30 - number);
      return number * 2;
    });
    expect(results).toEqual(numbers.map((number) => number * 2));
    expect([begun, seen.most]).toEqual([numbers, 6]);
    expect(await inParallel([], 6, signal, async () => 1)).toEqual([]);
  });

  it('ends with the first failure, once all started tasks have ended', async () => {
    const { seen, busy } = gauge();
    const begun: number[] = [];
    const reason = new Error('broken');
    const work = inParallel(numbers, 4, signal, async (number, either) => {
      begun.push(number);
      await busy(3);
      if (number === 5) throw reason;
      await busy(3);
      either.throwIfAborted();
    });
    expect(await failureOf(work)).toBe(reason);
    expect(seen.now).toBe(0);
    expect(begun.length).toBeLessThan(12);
  });

  it('ends when it is aborted', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    let begun = 0;
    const work = inParallel(numbers, 2, controller.signal, async (number, either) => {
      begun += 1;
      if (number === 4) controller.abort(reason);
      await turn();
      either.throwIfAborted();
    });
    expect(await failureOf(work)).toBe(reason);
    expect(begun).toBeLessThan(8);
  });

  it('waits for a free slot, also after failures', async () => {
    const { seen, busy } = gauge();
    const slots = new Slots(3);
    const work = numbers.map((number) =>
      slots.run(async () => {
        await busy(2);
        if (number % 4 === 0) throw new Error('broken');
      }),
    );
    const outcomes = await Promise.allSettled(work);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(8);
    expect(seen).toEqual({ now: 0, most: 3 });
  });
});
