import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Kysely, sql } from 'kysely';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import { putEvaluation } from '../../../../src/service/store/agents/evaluations.ts';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { searchSlice } from '../../../../src/service/store/database/slices.ts';
import { LibsqlDialect } from '../../../../src/service/store/database/sqlite/dialect.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import type { RunFilter } from '../../../../src/service/store/runs/run-filter.ts';
import { countRuns, listRunRows } from '../../../../src/service/store/runs/run-list.ts';
import { changeRun, insertRun } from '../../../../src/service/store/runs/runs.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

/** A database, and the plans of the queries on it. */
async function openWatched() {
  const directory = await temporaryDirectory();
  await (await openDatabase(directory)).destroy();
  const queries: { sql: string; parameters: readonly unknown[] }[] = [];
  const file = new Libsql(`${directory}/aops.db`);
  const db = new Kysely<Database>({ dialect: new LibsqlDialect(file), log: ({ query }) => void queries.push(query) });
  afterTest(() => db.destroy());
  const plans = () =>
    queries.map(({ sql, parameters }) => {
      const steps = file.prepare(`explain query plan ${sql}`).all([...parameters]) as { detail: string }[];
      return steps.map(({ detail }) => detail).join('\n');
    });
  return { db, plans, queries };
}

const page = { limit: 20, offset: 0, order: 'desc' } as const;

it.each<[Partial<RunFilter>, string]>([
  [{}, 'COVERING INDEX runs_listed (team_id=?)'],
  [{ since: '2026' }, 'COVERING INDEX runs_listed (team_id=? AND created_at>?)'],
  [{ since: '2026', until: '2027' }, 'COVERING INDEX runs_listed (team_id=? AND created_at>? AND created_at<?)'],
  [{ statuses: ['failed'] }, 'INDEX runs_by_status (team_id=? AND status=?)'],
  [{ statuses: ['failed'], since: '2026' }, 'INDEX runs_by_status (team_id=? AND status=? AND created_at>?)'],
  [{ statuses: ['waiting', 'failed'] }, 'INDEX runs_by_status (team_id=? AND status=?)'],
  [{ source: 'api' }, 'INDEX runs_by_source (team_id=? AND source=?)'],
  [{ source: 'api', statuses: ['failed'] }, 'INDEX runs_by_source_status (team_id=? AND source=? AND status=?)'],
  [{ agentId: 'a' }, 'COVERING INDEX runs_by_agent (agent_id=?)'],
  [{ agentId: 'a', since: '2026' }, 'COVERING INDEX runs_by_agent (agent_id=? AND created_at>?)'],
  [{ agentId: 'a', statuses: ['failed'] }, 'INDEX runs_by_agent_status (agent_id=? AND status=?)'],
  [{ hasIssues: true }, 'COVERING INDEX runs_with_issues (team_id=?)'],
  [{ hasIssues: true, since: '2026' }, 'COVERING INDEX runs_with_issues (team_id=? AND created_at>?)'],
  [{ hasIssues: true, agentId: 'a' }, 'COVERING INDEX runs_with_issues_by_agent (agent_id=?)'],
  [{ hasIssues: true, issueSeverity: 'low' }, 'COVERING INDEX runs_with_low_issues (team_id=?)'],
  [{ issueSeverity: 'critical', until: '2026' }, 'COVERING INDEX runs_with_critical_issues (team_id=? AND created_at<?)'],
])('the list filtered by %o finds its page in an index, in order', async (filter, index) => {
  const { db, plans } = await openWatched();
  await listRunRows(db, { teamId: 't', ...filter }, page);
  for (const plan of plans()) {
    const subqueryPlan = plan.slice(plan.indexOf('LIST SUBQUERY'));
    expect(subqueryPlan).toContain(`SEARCH runs USING ${index}`);
    // Only the page is sorted, after it was found.
    expect(plan).toMatch(/^SEARCH runs USING INDEX sqlite_autoindex_runs_1 \(id=\?\)/);
    expect(plan.match(/TEMP B-TREE/g)).toHaveLength(1);
    expect(plan).toMatch(/USE TEMP B-TREE FOR ORDER BY$/);
    expect(plan).not.toContain('SCAN');
  }
});

it.each<[Partial<RunFilter>, string]>([
  [{ hasIssues: true, statuses: ['failed'] }, 'runs_with_issues (team_id=?'],
  [{ issueSeverity: 'medium', source: 'api' }, 'runs_with_medium_issues (team_id=?'],
  [{ issueSeverity: 'low', agentId: 'a', statuses: ['failed'], source: 'api' }, 'runs_with_issues_by_agent (agent_id=?'],
])('among many runs, those with issues are found by these, and not by the other filters in %o', async (filter, index) => {
  const { db, plans } = await openWatched();
  await sql`pragma foreign_keys = off`.execute(db);
  await sql`insert into run_totals (team_id, agent_id, status, source, runs) values ('t', 'a', 'failed', 'api', 1000000)`.execute(db);
  await countRuns(db, { teamId: 't', ...filter });
  await listRunRows(db, { teamId: 't', ...filter }, page);
  const searches = plans().filter((plan) => plan.includes('SEARCH runs') && !plan.includes('run_totals'));
  expect(searches).toHaveLength(4);
  for (const plan of searches) expect(plan).toContain(index);
});

it('among few runs, those with issues are found by the other filters', async () => {
  const { db, plans } = await openWatched();
  await countRuns(db, { teamId: 't', hasIssues: true, statuses: ['failed'] });
  expect(plans().at(-1)).toContain('runs_by_status (team_id=? AND status=?)');
});

it.each<[Partial<RunFilter>]>([
  [{}],
  [{ agentId: 'a', statuses: ['failed'], since: '2026' }],
  [{ hasIssues: false }],
  [{ source: 'api', caseQueueId: 'q' }],
  [{ search: 'zq' }],
])('a few matches of a search among many runs are found by the index of searches, also with the filter %o', async (filter) => {
  const { db, plans } = await openWatched();
  await sql`pragma foreign_keys = off`.execute(db);
  await sql`insert into run_totals (team_id, agent_id, status, source, runs) values ('t', 'a', 'failed', 'api', 1000000)`.execute(db);
  await listRunRows(db, { teamId: 't', search: 'invoice', ...filter }, page);
  await countRuns(db, { teamId: 't', search: 'invoice', ...filter, hasIssues: undefined });
  const searches = plans().filter((plan) => plan.includes('INTEGER PRIMARY KEY'));
  expect(searches).toHaveLength(2);
  for (const plan of searches) {
    expect(plan).toContain('SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)');
    expect(plan).toContain('SCAN run_search VIRTUAL TABLE INDEX');
    expect(plan).not.toMatch(/runs_listed|SCAN runs$/m);
  }
});

it('the total of a search that most runs match uses the index once, which it reads from its beginning each time', async () => {
  const { db, queries } = await openWatched();
  await sql`pragma foreign_keys = off`.execute(db);
  await sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(4 * searchSlice)})
    insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime, procedure_hash,
      turn, submitted_prompt_count, resume_count, created_at, updated_at)
    select printf('run-%d', i), 't', 'a', 'b', i, 'Invoice', 'invoice', 'completed', 'api', 's', 'script', 'h', 1, 0, 0,
      printf('2026-01-01T%08d', i), '' from n`.execute(db);
  await sql`insert into run_totals (team_id, agent_id, source, status, runs)
    select team_id, agent_id, source, status, count(*) from runs group by 1, 2, 3, 4`.execute(db);
  queries.length = 0;
  expect(await countRuns(db, { teamId: 't', search: 'invoice' })).toBe(4 * searchSlice);
  expect(queries.filter((query) => query.sql.includes('run_search match'))).toHaveLength(1);
});

it.each<[Partial<RunFilter>]>([[{}], [{ agentId: 'a' }], [{ statuses: ['failed', 'waiting'] }], [{ source: 'api' }]])(
  'the total filtered by %o reads no run',
  async (filter) => {
    const { db, plans } = await openWatched();
    await countRuns(db, { teamId: 't', ...filter });
    expect(plans()).toHaveLength(1);
    expect(plans()[0]).toMatch(/^SEARCH run_totals USING .*\(team_id=\?/);
  },
);

it.each<[Partial<RunFilter>, string]>([
  [{ since: '2026' }, 'COVERING INDEX runs_listed'],
  [{ statuses: ['failed'], since: '2026' }, 'COVERING INDEX runs_by_status'],
  [{ agentId: 'a', until: '2026' }, 'COVERING INDEX runs_by_agent'],
  [{ hasIssues: true }, 'COVERING INDEX runs_with_issues'],
  [{ agentId: 'a', hasIssues: false }, 'COVERING INDEX runs_with_issues_by_agent'],
  [{ issueSeverity: 'medium' }, 'COVERING INDEX runs_with_medium_issues'],
  [{ caseQueueId: 'q' }, 'COVERING INDEX runs_listed'],
])('the total filtered by %o reads an index alone', async (filter, index) => {
  const { db, plans } = await openWatched();
  await countRuns(db, { teamId: 't', ...filter });
  expect(plans().at(-1)).toContain(`SEARCH runs USING ${index}`);
});

const statuses = ['not_started', 'pending', 'starting', 'running', 'waiting', 'completed', 'failed', 'interrupted'] as const;

/** A database that accepts runs without the rows they refer to, except their agents. */
async function withAgents() {
  const db = await openDatabase(await temporaryDirectory());
  afterTest(() => db.destroy());
  await sql`pragma foreign_keys = off`.execute(db);
  for (const [id, team_id] of [
    ['a1', 't1'],
    ['a2', 't1'],
    ['b1', 't2'],
  ])
    await sql`insert into agents (id, team_id, name, name_folded, created_at, updated_at) values (${id}, ${team_id}, ${id}, ${id}, '', '')`.execute(
      db,
    );
  return db;
}

const run = (agent_id: string, team_id: string, number: number, source: string, created_at: string) => ({
  ...{ id: randomUUID(), team_id, agent_id, source, created_at, run_number: number, status: 'not_started' as const },
  ...{ build_id: 'b', title: `Run ${number}`, title_folded: `run ${number}`, sandbox_id: 's', runtime: 'script', procedure_hash: 'h' },
  ...{
    turn: 1,
    submitted_prompt_count: 0,
    unread_message: null,
    resume_count: 0,
    error: null,
    exec_level: null,
    webhook_url: null,
    case_id: null,
  },
  ...{ updated_at: created_at, started_at: null, completed_at: null },
});

const evaluation = { status: 'ready', passed: 0, total: 3, comment: null, results: '[]', updated_at: '' } as const;

it('totals and pages are those of the runs, whatever happened to them', async () => {
  const db = await withAgents();
  const createdIds: string[] = [];
  const numbers = { t1: 0, t2: 0 };
  const agents = fc.constantFrom(['a1', 't1'], ['a2', 't1'], ['b1', 't2']);
  const step = fc.oneof(
    fc.record({ create: agents, source: fc.constantFrom('api', 'mcp'), second: fc.nat(3) }),
    fc.record({
      change: fc.nat(),
      from: fc.subarray([...statuses], { minLength: 1 }),
      to: fc.constantFrom(...statuses),
      fails: fc.boolean(),
    }),
    fc.record({ evaluate: fc.nat(), critical: fc.nat(1), medium: fc.nat(1), low: fc.nat(1) }),
  );
  const filter = fc.record(
    {
      teamId: fc.constantFrom('t1', 't2'),
      agentId: fc.constantFrom('a1', 'a2', 'b1'),
      statuses: fc.subarray([...statuses]),
      source: fc.constantFrom('api', 'mcp'),
      since: fc.constantFrom('2026-01-01T00:00:01', '2026-01-01T00:00:03'),
      until: fc.constantFrom('2026-01-01T00:00:01', '2026-01-01T00:00:03'),
      // A number matches one run at most, so most filters have none.
      number: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 30 }) }),
      hasIssues: fc.boolean(),
      issueSeverity: fc.constantFrom('critical', 'medium', 'low'),
    },
    { requiredKeys: ['teamId'] },
  );
  const property = async (steps: (typeof step extends fc.Arbitrary<infer Step> ? Step : never)[], filters: RunFilter[], offset: number) => {
    for (const action of steps) {
      if ('create' in action) {
        const [agent, team] = action.create as [string, 't1' | 't2'];
        const row = run(agent, team, ++numbers[team], action.source, `2026-01-01T00:00:0${action.second}`);
        await db.transaction().execute((trx) => insertRun(trx, row));
        createdIds.push(row.id);
      } else if (createdIds.length > 0 && 'evaluate' in action) {
        const id = createdIds[action.evaluate % createdIds.length] as string;
        const { critical, medium, low } = action;
        await putEvaluation(db, { ...evaluation, run_id: id, critical, medium, low, issues: critical + medium + low });
      } else if (createdIds.length > 0 && 'change' in action) {
        const id = createdIds[action.change % createdIds.length] as string;
        const changing = db.transaction().execute(async (trx) => {
          await changeRun(trx, id, action.from, { status: action.to, updated_at: 'now' });
          if (action.fails) throw new Error('taken back');
        });
        await changing.catch((error: Error) => expect(error.message).toBe('taken back'));
      }
    }
    const allRows = await db
      .selectFrom('runs')
      .leftJoin('evaluations', 'run_id', 'id')
      .selectAll('runs')
      .select(['evaluations.critical', 'evaluations.medium', 'evaluations.low', 'evaluations.issues as all'])
      .orderBy('runs.created_at')
      .orderBy('run_number')
      .execute();
    for (const filter of filters) {
      const matching = allRows.filter(
        (row) =>
          row.team_id === filter.teamId &&
          (filter.agentId === undefined || row.agent_id === filter.agentId) &&
          (filter.statuses === undefined || filter.statuses.includes(row.status)) &&
          (filter.source === undefined || row.source === filter.source) &&
          (filter.hasIssues === undefined || (row.all ?? 0) > 0 === filter.hasIssues) &&
          (filter.issueSeverity === undefined || (row[filter.issueSeverity] ?? 0) > 0) &&
          (filter.since === undefined || row.created_at >= filter.since) &&
          (filter.until === undefined || row.created_at < filter.until) &&
          (filter.number === undefined || row.run_number === filter.number),
      );
      expect(await countRuns(db, filter)).toBe(matching.length);
      const ids = matching.map((row) => row.id);
      const listIds = async (order: 'asc' | 'desc') => (await listRunRows(db, filter, { limit: 5, offset, order })).map((row) => row.id);
      expect(await listIds('asc')).toEqual(ids.slice(offset, offset + 5));
      expect(await listIds('desc')).toEqual(ids.reverse().slice(offset, offset + 5));
    }
  };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.array(filter, { minLength: 1, maxLength: 4 }), fc.nat(8), property),
    { numRuns: 60 },
  );
});
