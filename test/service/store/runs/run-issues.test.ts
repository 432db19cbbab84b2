/** Runs are listed by the issues of their evaluations, also by those that a previous version wrote. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { putEvaluation, reopenEvaluation } from '../../../../src/service/store/agents/evaluations.ts';
import type { Store } from '../../../../src/service/store/database/database.ts';
import { runIssues } from '../../../../src/service/store/database/migrations/0038-run-issues.ts';
import { migrations } from '../../../../src/service/store/database/postgres/migrate.ts';
import { openPostgres } from '../../../../src/service/store/database/postgres/open.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { countRuns, listRunRows } from '../../../../src/service/store/runs/run-list.ts';
import { needsPostgres, newDatabase } from '../../../support/postgres.ts';
import { describeNeeding } from '../../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { insertRuns } from '../../helpers/rows.ts';

const time = '2026-07-18T09:00:00.000Z';

/** Stores the evaluation of a run with this many issues of each severity. */
const evaluate = (db: Store, runId: string, { critical = 0, medium = 0, low = 0 }) =>
  putEvaluation(db, {
    ...{ run_id: runId, status: 'ready', passed: 0, total: 4, comment: null, results: '[]', updated_at: time },
    ...{ critical, medium, low, issues: critical + medium + low },
  });

/** The IDs of the runs with issues, of all severities and of each. */
async function runsWithIssues(db: Store): Promise<Record<string, string[]>> {
  const page = { limit: 10, offset: 0, order: 'asc' } as const;
  const filters = { all: { hasIssues: true }, none: { hasIssues: false }, critical: undefined, medium: undefined, low: undefined };
  const found: Record<string, string[]> = {};
  for (const [name, filter] of Object.entries(filters)) {
    const complete = { teamId: 't', ...(filter ?? { issueSeverity: name as 'low' }) };
    const ids = (await listRunRows(db, complete, page)).map(({ id }) => id);
    expect(await countRuns(db, complete)).toBe(ids.length);
    found[name] = ids;
  }
  return found;
}

async function insertEvaluatedRuns(db: Store): Promise<void> {
  await insertTeam(db, { id: 't', name: 'T', created_at: time });
  await insertRuns(db, 't');
  await sql`insert into run_totals (team_id, agent_id, source, status, runs)
    select team_id, agent_id, source, status, count(*) from runs group by 1, 2, 3, 4`.execute(db);
  await evaluate(db, 't 0', { critical: 1, low: 2 });
  await evaluate(db, 't 1', {});
}

it('the list follows the evaluation of a run', async () => {
  const db = await openDatabase(await temporaryDirectory());
  afterTest(() => db.destroy());
  await insertEvaluatedRuns(db);
  expect(await runsWithIssues(db)).toEqual({ all: ['t 0'], none: ['t 1', 't 2'], critical: ['t 0'], medium: [], low: ['t 0'] });
  await evaluate(db, 't 1', { medium: 1 });
  await evaluate(db, 't 0', { low: 1 });
  expect(await runsWithIssues(db)).toEqual({ all: ['t 0', 't 1'], none: ['t 2'], critical: [], medium: ['t 1'], low: ['t 0'] });
  await reopenEvaluation(db, 't 0', time);
  expect(await runsWithIssues(db)).toEqual({ all: ['t 1'], none: ['t 0', 't 2'], critical: [], medium: ['t 1'], low: [] });
});

it('the list contains runs that were evaluated before the migration', async () => {
  const db = await openDatabase(await temporaryDirectory());
  afterTest(() => db.destroy());
  await insertEvaluatedRuns(db);
  for (const event of ['insert', 'update']) await sql`drop trigger ${sql.id(`run_issues_${event}`)}`.execute(db);
  await sql`drop index runs_with_issues_by_agent`.execute(db);
  for (const column of ['issues', 'critical_issues', 'medium_issues', 'low_issues']) {
    await sql`drop index ${sql.id(`runs_with_${column}`)}`.execute(db);
    await sql`alter table runs drop column ${sql.id(column)}`.execute(db);
  }
  await runIssues.up(db as never);
  expect(await runsWithIssues(db)).toEqual({ all: ['t 0'], none: ['t 1', 't 2'], critical: ['t 0'], medium: [], low: ['t 0'] });
});

describeNeeding(needsPostgres, 'on Postgres', () => {
  it('the list contains what a node of the previous version has evaluated, before the migration and after it', async () => {
    const url = await newDatabase();
    const { '0038-run-issues': _, ...previous } = migrations;
    const older = await openPostgres({ url, instanceId: 'older', schema: { migrations: previous } });
    afterTest(() => older.destroy());
    await insertEvaluatedRuns(older);
    const newer = await openPostgres({ url, instanceId: 'newer' });
    afterTest(() => newer.destroy());
    expect(await runsWithIssues(newer)).toEqual({ all: ['t 0'], none: ['t 1', 't 2'], critical: ['t 0'], medium: [], low: ['t 0'] });
    await evaluate(older, 't 2', { medium: 3 });
    await reopenEvaluation(older, 't 0', time);
    expect(await runsWithIssues(newer)).toEqual({ all: ['t 2'], none: ['t 0', 't 1'], critical: [], medium: ['t 2'], low: [] });
  });
});
