/** Several sequences that are read at the same time. */
import { expect, it } from 'vitest';
import { merged } from '../../src/watch/many/channel.ts';

async function* sequence(items: readonly string[], end?: Error): AsyncGenerator<string, void, undefined> {
  for (const item of items) {
    await Promise.resolve();
    yield item;
  }
  if (end !== undefined) throw end;
}

async function itemsOf(items: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const item of items) all.push(item);
  return all;
}

it('contains the items of all of them, each in its order', async () => {
  const items = await itemsOf(merged([sequence(['a1', 'a2', 'a3']), sequence([]), sequence(['b1', 'b2'])]));
  expect(items.filter((item) => item.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
  expect(items.filter((item) => item.startsWith('b'))).toEqual(['b1', 'b2']);
  expect(await itemsOf(merged([]))).toEqual([]);
});

it('loses nothing of the others if one fails, and then fails', async () => {
  const failure = new Error('unreachable');
  const items: string[] = [];
  const all = (async () => {
    for await (const item of merged([sequence(['a1'], failure), sequence(['b1', 'b2', 'b3'])])) items.push(item);
  })();
  await expect(all).rejects.toBe(failure);
  expect(items.toSorted()).toEqual(['a1', 'b1', 'b2', 'b3']);
});
