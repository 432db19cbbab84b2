/** How many rows Postgres reads for lists of runs: not all of them if there are few matches. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import type { Queries, Store } from '../../../../src/service/store/database/database.ts';
import type { RunFilter } from '../../../../src/service/store/runs/run-filter.ts';
import { countRuns, listRunRows } from '../../../../src/service/store/runs/run-list.ts';
import { needsPostgres } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { openNodes } from '../../helpers/postgres.ts';
import { insertRuns } from '../../helpers/rows.ts';

const runs = 5_000;
/** Every thousandth run has an issue. */
const issues = runs / 1_000;

async function manyRuns(): Promise<Store> {
  const [store] = (await openNodes('a')) as [Store];
  await insertTeam(store, { id: 't', name: 'T', created_at: '2026-07-18T09:00:00.000Z' });
  await insertRuns(store, 't');
  const changes: Record<string, string> = {
    id: "lpad(to_hex(n), 8, '0') || '-0000-4000-8000-000000000000'",
    run_number: 'n',
    title: "'Check invoice ' || n || '.'",
    title_folded: "'check invoice ' || n || '.'",
    created_at: "'2026-07-18T09:' || lpad((n / 60)::text, 3, '0')",
  };
  const names = await sql<{ name: string }>`select column_name as name from information_schema.columns where table_name = 'runs'`.execute(
    store,
  );
  const columns = names.rows.map(({ name }) => name);
  const values = columns.map((name) => changes[name] ?? name).join(', ');
  await sql
    .raw(
      `insert into runs (${columns.join(', ')}) select ${values} from (select * from runs limit 1) as run, generate_series(100, ${runs}) as n`,
    )
    .execute(store);
  await sql
    .raw(
      `insert into evaluations (run_id, status, passed, total, critical, medium, low, issues, results, created_at, updated_at)
        select id, 'ready', 4, 4, (run_number % 1000 = 0)::int, 0, 0, (run_number % 1000 = 0)::int, '[]', created_at, created_at from runs`,
    )
    .execute(store);
  await sql`vacuum analyze`.execute(store);
  return store;
}

/** How many rows of `runs` are read. The same query is executed often enough before that Postgres could keep its plan. */
async function rowsRead(store: Store, query: (db: Queries) => Promise<unknown>): Promise<number> {
  for (let repetition = 0; repetition < 8; repetition += 1) await query(store);
  return store.transaction().execute(async (trx) => {
    // What this connection has read, of which earlier transactions may not have been reported to the server yet.
    const total = async () => {
      const { rows } = await sql<{
        read: number;
      }>`select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = 'runs'`.execute(trx);
      return Number(rows[0]?.read);
    };
    const before = await total();
    await query(trx);
    return (await total()) - before;
  });
}

describeNeeding(needsPostgres, 'a list of runs on Postgres', () => {
  it('reads only candidates of a search, and only runs with issues', async () => {
    const store = await manyRuns();
    const page = { limit: 20, offset: 0, order: 'desc' as const };
    const list = (filter: Omit<RunFilter, 'teamId'>) => rowsRead(store, (db) => listRunRows(db, { teamId: 't', ...filter }, page));
    const count = (filter: Omit<RunFilter, 'teamId'>) => rowsRead(store, (db) => countRuns(db, { teamId: 't', ...filter }));
    expect(await list({ search: 'invoice 777.' })).toBeLessThan(100);
    expect(await count({ search: 'invoice 777.' })).toBeLessThan(100);
    expect(await list({ search: '0000022b-0000' })).toBeLessThan(100);
    // Most runs match: they are read in the order of the list.
    expect(await list({ search: 'invoice' })).toBeLessThan(1_000);
    expect(await list({ search: 'in' })).toBeLessThan(1_000);
    expect(await count({ hasIssues: true })).toBeLessThanOrEqual(2 * issues);
    for (const filter of [{ hasIssues: true }, { issueSeverity: 'critical' }, { hasIssues: true, agentId: 't' }] as const)
      expect(await list(filter)).toBeLessThanOrEqual(4 * issues);
    expect(await list({ issueSeverity: 'low' })).toBeLessThanOrEqual(issues);
  });

  it('finds the runs whose title contains one or two characters', async () => {
    const store = await manyRuns();
    const numbers = Array.from({ length: runs - 99 }, (_, index) => `check invoice ${index + 100}.`);
    for (const search of ['7.', '77', 'E ', '.', '5', '%', '']) {
      const matching = numbers.filter((title) => title.includes(search.trim().toLowerCase()));
      // Three other runs have no title.
      expect(await countRuns(store, { teamId: 't', search }), search).toBe(matching.length + (search === '' ? 3 : 0));
    }
  });

  it('finds a run by its ID without an index for searches', async () => {
    const [store] = (await openNodes('a')) as [Store];
    const { rows } = await sql`select indexname from pg_indexes where indexdef like '%(id gin_trgm_ops)%'`.execute(store);
    expect(rows).toEqual([]);
  });
});
