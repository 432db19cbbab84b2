import { Kysely } from 'kysely';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import { openDatabase } from '../../../src/service/store/database.ts';
import { LibsqlDialect } from '../../../src/service/store/dialect.ts';
import { listRunRows, type RunFilter } from '../../../src/service/store/run-list.ts';
import type { Database } from '../../../src/service/store/schema.ts';
import { afterTest, temporaryDirectory } from '../helpers/service.ts';

it.each<Partial<RunFilter>>([
  {},
  { agentId: 'a' },
  { statuses: ['failed'] },
  { source: 'api' },
  { since: '2026' },
  { agentId: 'a', statuses: ['failed'] },
])('the list filtered by %o reads an index in order', async (filter) => {
  const directory = await temporaryDirectory();
  await (await openDatabase(directory)).destroy();
  const queries: { sql: string; parameters: readonly unknown[] }[] = [];
  const file = new Libsql(`${directory}/aops.db`);
  const db = new Kysely<Database>({ dialect: new LibsqlDialect(file), log: ({ query }) => void queries.push(query) });
  afterTest(() => db.destroy());
  await listRunRows(db, { teamId: 't', ...filter }, { limit: 20, offset: 0, order: 'desc' });
  const plan = file.prepare(`explain query plan ${queries[0]?.sql}`).all([...(queries[0]?.parameters ?? [])]) as { detail: string }[];
  const text = plan.map(({ detail }) => detail).join('\n');
  expect(text).toMatch(/SEARCH runs USING/);
  expect(text).not.toContain('TEMP B-TREE');
});
