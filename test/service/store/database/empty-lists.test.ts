/** Conditions with empty lists mean the same on both databases. */
import { expect, it } from 'vitest';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { itNeeding } from '../../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { openNode } from '../../helpers/postgres.ts';

async function expectNothingIn(store: Store): Promise<void> {
  await store.insertInto('settings').values({ name: 'mine', value: '' }).execute();
  const mine = store.selectFrom('settings').select('name').where('name', '=', 'mine');
  expect(await mine.where('name', 'in', []).execute()).toEqual([]);
  expect(await mine.where('name', 'not in', []).execute()).toEqual([{ name: 'mine' }]);
  expect(await mine.where('name', 'in', ['mine']).where('name', 'not in', ['other']).execute()).toEqual([{ name: 'mine' }]);
  expect(await mine.where((where) => where.not(where.or([where('name', 'in', [])]))).execute()).toEqual([{ name: 'mine' }]);
}

it('nothing is in an empty list on SQLite', async () => {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  await expectNothingIn(store);
});

itNeeding(needsPostgres, 'nothing is in an empty list on Postgres', async () => expectNothingIn(await openNode(await newDatabase())));
