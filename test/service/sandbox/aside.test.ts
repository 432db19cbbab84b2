/** What happens to the sandboxes that a transaction removes, when it is repeated or fails. */
import { expect, it } from 'vitest';
import { removingSandboxes } from '../../../src/service/sandbox/aside.ts';
import { failureOf } from '../../client/harness.ts';

/** Sandboxes that note what happens to them. */
function sandboxes() {
  const events: string[] = [];
  return {
    events,
    async putAside(id: string) {
      events.push(`${id} aside`);
      return { putBack: async () => void events.push(`${id} back`), remove: async () => void events.push(`${id} removed`) };
    },
  };
}

it('they are removed after the transaction', async () => {
  const store = sandboxes();
  const result = await removingSandboxes(store, async (attempt) => {
    const value = await attempt(async (removal) => {
      await removal.putAside('a');
      await removal.putAside('b');
      return 7;
    });
    store.events.push('committed');
    return value;
  });
  expect([result, store.events]).toEqual([7, ['a aside', 'b aside', 'committed', 'a removed', 'b removed']]);
});

it('those of an attempt that is repeated are back in use, also if the next one does not remove them', async () => {
  const store = sandboxes();
  await removingSandboxes(store, async (attempt) => {
    for (const id of ['a', 'b']) await attempt((removal) => removal.putAside(id));
  });
  expect(store.events).toEqual(['a aside', 'a back', 'b aside', 'b removed']);
});

it('they are back in use if it fails', async () => {
  const store = sandboxes();
  const error = new Error('no');
  const failing = removingSandboxes(store, async (attempt) => {
    await attempt((removal) => removal.putAside('a'));
    throw error;
  });
  expect(await failureOf(failing)).toBe(error);
  expect(store.events).toEqual(['a aside', 'a back']);
});
