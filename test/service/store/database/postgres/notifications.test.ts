/** What the nodes learn of each other's changes. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Store } from '../../../../../src/service/store/database/database.ts';
import { DatabaseProxy } from '../../../../support/database-proxy.ts';
import { eventually } from '../../../../support/eventually.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { openNode, openNodes } from '../../../helpers/postgres.ts';

const id = '01890000-0000-7000-8000-000000000001';

/** The changes of other nodes that a node has noticed. */
function noticedBy(store: Store): string[] {
  const noticed: string[] = [];
  store.changes.onRemoteChange((table, ids) => noticed.push([table ?? 'everything', ...ids].join(' ')));
  return noticed;
}

const changeJob = (store: Store, subjectId: string) =>
  store.updateTable('jobs').set({ payload: 'not an ID' }).where('subject_id', '=', subjectId).execute();

describeNeeding(needsPostgres, 'a change', () => {
  it('is reported to the other nodes with the IDs of its rows, and not to the node that made it', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    const noticed = { a: noticedBy(a), b: noticedBy(b) };
    await changeJob(a, id);
    await eventually('b has noticed it', () => noticed.b.length > 0);
    expect(noticed).toEqual({ a: [], b: [`jobs ${id}`] });
  });

  it('of more rows than a notification can contain is reported as a change of everything', async () => {
    const [a, b] = (await openNodes('a', 'b')) as [Store, Store];
    const noticed = noticedBy(b);
    const ids = Array.from({ length: 300 }, (_, index) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`);
    await a.updateTable('jobs').set({ payload: '' }).where('subject_id', 'in', ids).execute();
    await eventually('b has noticed it', () => noticed.length > 0);
    expect(noticed).toEqual(['everything']);
  });

  it('may have been missed after the connection was lost: everything counts as changed', async () => {
    const url = await newDatabase();
    const a = await openNode(url, 'a');
    const proxy = await DatabaseProxy.to(url);
    const b = await openNode(proxy.url, 'b');
    const noticed = noticedBy(b);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'aops/b' and datname = current_database()`.execute(
      a,
    );
    await eventually('b listens again', () => noticed.includes('everything'));
    await changeJob(a, id);
    await eventually('b has noticed it', () => noticed.includes(`jobs ${id}`));
  });
});
