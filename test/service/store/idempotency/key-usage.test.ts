/** How much a credential may store under its keys. */
import { expect, it } from 'vitest';
import type { Queries } from '../../../../src/service/store/database/database.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { KeyUsage } from '../../../../src/service/store/idempotency/key-usage.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

async function loadedUsage(): Promise<KeyUsage> {
  const directory = await temporaryDirectory();
  await putEmptyDatabase(directory);
  const db = await openDatabase(directory);
  afterTest(() => db.destroy());
  const usage = new KeyUsage();
  await usage.load(db);
  return usage;
}

it('is at most 100,000 answers', async () => {
  const usage = await loadedUsage();
  usage.add('c', 99_999, 0);
  expect([usage.reserve('c'), usage.reserve('c'), usage.reserve('other')]).toEqual([true, false, true]);
});

it('is less than 128 MiB when another answer is added', async () => {
  const usage = await loadedUsage();
  usage.add('c', 1, 128 * 1024 * 1024 - 1);
  expect(usage.reserve('c')).toBe(true);
  usage.add('c', 0, 1);
  expect(usage.reserve('c')).toBe(false);
});

it('is read from the database once', async () => {
  const usage = await loadedUsage();
  const unreadable = new Proxy({} as Queries, {
    get() {
      throw new Error('read again');
    },
  });
  await usage.load(unreadable);
});
