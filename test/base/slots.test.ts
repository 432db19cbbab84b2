/** How much is in progress at a time, in total or for each key. */
import { expect, it } from 'vitest';
import { KeyedSlots, Slots } from '../../src/base/slots.ts';

/** Lets everything happen that waits for nothing else. */
const idle = () => new Promise((resolve) => setImmediate(resolve));

it('a slot is free again when its work has ended, whether it succeeded or not, and is given to the first that waits', async () => {
  const slots = new Slots(2);
  const begun: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const runs = [0, 1, 2, 3].map((number) =>
    slots.run(() => {
      begun.push(number);
      return new Promise<number>((resolve, reject) => {
        ends[number] = (error) => (error ? reject(error) : resolve(number));
      });
    }),
  );
  await idle();
  expect(begun).toEqual([0, 1]);
  ends[1]?.(new Error('failed'));
  await expect(runs[1]).rejects.toThrow('failed');
  await idle();
  expect(begun).toEqual([0, 1, 2]);
  ends[0]?.();
  await idle();
  expect(begun).toEqual([0, 1, 2, 3]);
  ends[2]?.();
  ends[3]?.();
  expect(await Promise.all([runs[0], runs[2], runs[3]])).toEqual([0, 2, 3]);
});

it('a slot of a key is freed when its work has ended or failed', async () => {
  const slots = new KeyedSlots(1);
  expect(await slots.run('a', async () => 'first')).toBe('first');
  await expect(slots.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await idle();
    order.push(`${name} ends`);
  };
  await Promise.all([slots.run('a', work('second')), slots.run('a', work('third'))]);
  expect(order).toEqual(['second begins', 'second ends', 'third begins', 'third ends']);
});

it('each key has slots of its own, and each of them is freed once', async () => {
  const slots = new KeyedSlots(1);
  const taken: string[] = [];
  const take = async (key: string, name: string) => {
    const free = await slots.take(key);
    taken.push(name);
    return free;
  };
  const first = await take('a', 'a1');
  const later = [take('a', 'a2'), take('a', 'a3')];
  (await take('b', 'b1'))();
  await idle();
  expect([taken, slots.waitingCount]).toEqual([['a1', 'b1'], 2]);
  first();
  first();
  await idle();
  expect([taken, slots.waitingCount]).toEqual([['a1', 'b1', 'a2'], 1]);
  (await later[0])?.();
  (await later[1])?.();
  (await take('a', 'a4'))();
  expect([taken, slots.waitingCount]).toEqual([['a1', 'b1', 'a2', 'a3', 'a4'], 0]);
});
