import { join } from 'node:path';
import fc from 'fast-check';
import { Kysely, sql } from 'kysely';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import { admitDueCases, delegatedAgents, nextCase, nextPostponed } from '../../../../src/service/store/cases/case-line.ts';
import { changeCase, insertCases, updateCases } from '../../../../src/service/store/cases/cases.ts';
import { migrations } from '../../../../src/service/store/database/migrations/index.ts';
import type { CaseRow, Database } from '../../../../src/service/store/database/schema.ts';
import { LibsqlDialect } from '../../../../src/service/store/database/sqlite/dialect.ts';
import { migrate } from '../../../../src/service/store/database/sqlite/migrate.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

/** A database that accepts cases without their queues, agents and runs. */
async function looseDatabase() {
  const db = await openDatabase(await temporaryDirectory());
  afterTest(() => db.destroy());
  await sql`pragma foreign_keys = off`.execute(db);
  return db;
}

const newCase = (id: string, changes: Partial<CaseRow> = {}) => ({
  ...{ id, title: id, data: '', search_text: id, status: 'pending' as const, priority: 0, delegated_agent_id: null },
  ...{ claimed_at: null, claimed_by_run_id: null, completed_at: null, postponed_to: null, created_at: '2026-01-01', updated_at: '' },
  ...changes,
});

it('takes cases in the order that sorting all of them would give', async () => {
  const db = await looseDatabase();
  let queue = 0;
  const moment = fc.nat(5).map((hour) => `2026-01-01T0${hour}`);
  const agent = fc.constantFrom('a', 'b');
  const cases = fc.array(
    fc.record({
      priority: fc.nat(2),
      created_at: moment,
      // Half of them, so that delegated and open cases often compete.
      postponed_to: fc.option(moment, { freq: 2 }),
      delegated_agent_id: fc.option(agent, { freq: 2 }),
    }),
    { maxLength: 12 },
  );
  const turns = fc.array(fc.record({ agentId: agent, ownOnly: fc.boolean(), later: fc.nat(2), postponeAgain: fc.option(moment) }), {
    maxLength: 15,
  });
  await fc.assert(
    fc.asyncProperty(cases, turns, async (rows, turnList) => {
      const queueId = `q${++queue}`;
      const waitingCases = await insertCases(
        db,
        queueId,
        rows.map((row, index) => newCase(`${queueId}-${index}`, row)),
      );
      let hour = 0;
      for (const { agentId, ownOnly, later, postponeAgain } of turnList) {
        hour = Math.min(9, hour + later);
        const now = `2026-01-01T0${hour}`;
        const expected = waitingCases
          .filter((row) => row.postponed_to === null || row.postponed_to <= now)
          .filter((row) => row.delegated_agent_id === agentId || (!ownOnly && row.delegated_agent_id === null))
          .sort(
            (a, b) =>
              Number(a.postponed_to === null) - Number(b.postponed_to === null) ||
              b.priority - a.priority ||
              (a.created_at < b.created_at ? -1 : a.created_at > b.created_at ? 1 : a.number - b.number),
          )[0];
        await admitDueCases(db, queueId, now);
        const next = (await nextCase(db, { queueId, agentId, ownOnly })) as CaseRow | undefined;
        expect(next?.id).toBe(expected?.id);
        const stillPostponed = waitingCases.flatMap((row) =>
          row.postponed_to !== null && row.postponed_to > now ? [row.postponed_to] : [],
        );
        expect(await nextPostponed(db, queueId, now)).toBe(stillPostponed.sort()[0]);
        const delegatedIds = new Set(waitingCases.flatMap((row) => row.delegated_agent_id ?? []));
        expect(await delegatedAgents(db, queueId)).toEqual([...delegatedIds].sort());
        if (next === undefined || expected === undefined) continue;
        if (postponeAgain === null) {
          waitingCases.splice(waitingCases.indexOf(expected), 1);
          await changeCase(db, next.id, { status: 'pending', runId: null }, { claimed_by_run_id: 'run', postponed_to: null });
        } else {
          expected.postponed_to = postponeAgain;
          await updateCases(db, [next.id], { postponed_to: postponeAgain });
        }
      }
    }),
    { numRuns: 30, seed: 11 },
  );
});

it('reads a few entries of an index, and sorts nothing', async () => {
  const directory = await temporaryDirectory();
  await (await openDatabase(directory)).destroy();
  const queries: { sql: string; parameters: readonly unknown[] }[] = [];
  const file = new Libsql(join(directory, 'aops.db'));
  file.pragma('foreign_keys=OFF');
  const db = new Kysely<Database>({
    dialect: new LibsqlDialect(file),
    log: ({ query }) => {
      if (/^(select|update)/.test(query.sql)) queries.push(query);
    },
  });
  afterTest(() => db.destroy());
  await insertCases(db, 'q', [newCase('1', { postponed_to: '2026-01-01' }), newCase('2'), newCase('3', { delegated_agent_id: 'a' })]);
  queries.length = 0;
  await admitDueCases(db, 'q', '2026-01-02');
  expect(await nextCase(db, { queueId: 'q', agentId: 'a', ownOnly: false })).toMatchObject({ id: '1' });
  await nextPostponed(db, 'q', '2026-01-02');
  await delegatedAgents(db, 'q');
  const plans = queries.map(({ sql: statement, parameters }) =>
    (file.prepare(`explain query plan ${statement}`).all([...parameters]) as { detail: string }[]).map(({ detail }) => detail).join('\n'),
  );
  expect(plans).toEqual([
    'SEARCH cases USING INDEX cases_postponed (queue_id=? AND postponed_to<?)',
    'SEARCH cases USING INDEX cases_postponed (queue_id=? AND postponed_to<?)',
    'SEARCH cases USING INDEX cases_in_line (queue_id=? AND delegated_agent_id=? AND line_rank<?)',
    'SEARCH cases USING INDEX cases_in_line (queue_id=? AND delegated_agent_id=? AND line_rank<?)',
    'SEARCH cases USING INDEX cases_postponed (queue_id=? AND postponed_to>?)',
    'SEARCH cases USING INDEX cases_in_line (queue_id=? AND delegated_agent_id>?)',
    'SEARCH cases USING INDEX cases_in_line (queue_id=? AND delegated_agent_id>?)',
  ]);
});

it('keeps the order of waiting cases of an earlier database', async () => {
  const directory = await temporaryDirectory();
  const before = new Kysely<Database>({ dialect: new LibsqlDialect(new Libsql(join(directory, 'aops.db'))) });
  const olderMigrations = Object.entries(migrations).filter(([name]) => name < '0018-case-line');
  await migrate(before, directory, Object.fromEntries(olderMigrations));
  const timestamp = '2026-01-01T00:00:00.000Z';
  await sql`insert into teams (id, name, created_at) values ('t', 'Old', ${timestamp})`.execute(before);
  await sql`insert into queues (id, team_id, name, created_at, updated_at) values ('q', 't', 'Old', ${timestamp}, ${timestamp})`.execute(
    before,
  );
  for (const [id, number, postponedTo] of [
    ['waiting', 1, null],
    ['due', 2, '2026-01-02'],
    ['later', 3, '2026-01-04'],
  ] as const)
    await sql`insert into cases (id, queue_id, number, title, data, search_text, status, priority, postponed_to, created_at, updated_at)
      values (${id}, 'q', ${number}, ${id}, '', ${id}, 'pending', 0, ${postponedTo}, ${timestamp}, ${timestamp})`.execute(before);
  await before.destroy();

  const after = await openDatabase(directory);
  afterTest(() => after.destroy());
  await sql`pragma foreign_keys = off`.execute(after);
  const order: string[] = [];
  await admitDueCases(after, 'q', '2026-01-03');
  for (;;) {
    const next = (await nextCase(after, { queueId: 'q', agentId: 'a', ownOnly: false })) as CaseRow | undefined;
    if (next === undefined) break;
    order.push(next.id);
    await changeCase(after, next.id, { status: 'pending', runId: null }, { claimed_by_run_id: 'run', postponed_to: null });
  }
  expect(order).toEqual(['due', 'waiting']);
  expect(await nextPostponed(after, 'q', '2026-01-03')).toBe('2026-01-04');
});
