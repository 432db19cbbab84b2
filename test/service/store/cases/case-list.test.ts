import { Kysely } from 'kysely';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import { type CaseFilter, type CasePage, countCases, listCaseRows } from '../../../../src/service/store/cases/case-list.ts';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { LibsqlDialect } from '../../../../src/service/store/database/sqlite/dialect.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

/** The query that finds out whether a queue is long, for filters that no index serves. */
const lengthQuery = /^select "created_at", "number" from "cases" where "queue_id" = \? .* limit \? offset \?$/;

/** The plan of the only query for the cases, after one for the length of the queue if `asksLength`. */
async function planOf(query: (db: Kysely<Database>) => Promise<unknown>, { asksLength = false } = {}): Promise<string> {
  const directory = await temporaryDirectory();
  await (await openDatabase(directory)).destroy();
  const queries: { sql: string; parameters: readonly unknown[] }[] = [];
  const file = new Libsql(`${directory}/aops.db`);
  const db = new Kysely<Database>({
    dialect: new LibsqlDialect(file),
    log: ({ query: compiledQuery }) => void queries.push(compiledQuery),
  });
  afterTest(() => db.destroy());
  await query(db);
  if (asksLength) expect(queries.shift()?.sql).toMatch(lengthQuery);
  expect(queries).toHaveLength(1);
  const { sql, parameters } = queries[0] as (typeof queries)[number];
  const steps = file.prepare(`explain query plan ${sql}`).all([...parameters]) as { detail: string }[];
  return steps.map(({ detail }) => detail).join('\n');
}

const filterOf = (filter: Partial<CaseFilter>): CaseFilter => ({ queueId: 'q', now: '2026', ...filter });

it.each<[Partial<CaseFilter>, Partial<CasePage>, string]>([
  [{}, {}, 'COVERING INDEX cases_listed (queue_id=?)'],
  [{ createdFrom: '2026' }, {}, 'COVERING INDEX cases_listed (queue_id=? AND created_at>?)'],
  [{ statuses: ['completed'] }, {}, 'INDEX cases_by_status (queue_id=? AND status=?)'],
  [{}, { sortBy: 'updated_at' }, 'INDEX cases_updated (queue_id=?)'],
  [{ updatedFrom: '2026' }, { sortBy: 'updated_at' }, 'INDEX cases_updated (queue_id=? AND updated_at>?)'],
])('cases filtered by %o, as page %o, are found in an index, in order', async (filter, page, index) => {
  const plan = await planOf((db) =>
    listCaseRows(db, filterOf(filter), { limit: 20, offset: 0, sortBy: 'created_at', order: 'desc', ...page }),
  );
  expect(plan).toContain(`SEARCH cases USING ${index}`);
  expect(plan).not.toContain('TEMP B-TREE');
});

it.each<[Partial<CaseFilter>]>([[{}], [{ statuses: ['failed'] }], [{ createdFrom: '2026' }], [{ updatedFrom: '2026' }]])(
  'the number of cases filtered by %o reads an index alone',
  async (filter) => {
    expect(await planOf((db) => countCases(db, filterOf(filter)))).toMatch(/^SEARCH cases USING COVERING INDEX/);
  },
);

it('labels are looked up once, not case by case', async () => {
  const plan = await planOf((db) => countCases(db, filterOf({ labels: [{ key: 'kind', values: ['a', 'b'] }] })), { asksLength: true });
  expect(plan).toContain('LIST SUBQUERY');
  expect(plan).not.toContain('CORRELATED');
});
