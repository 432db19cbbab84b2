/** Runs one at a time. Lists are in run-list.ts. */
import type { Insertable, Updateable } from 'kysely';
import type { RunStatus } from '../../interface/types.ts';
import type { Queries } from './database.ts';
import { prepared } from './prepared.ts';
import type { RunRow, RunsTable } from './schema.ts';

/** Statuses that nothing but a posted message leaves. */
export const terminalStatuses = ['completed', 'failed', 'interrupted'] as const satisfies RunStatus[];

/** Statuses of a run that stopping changes. */
export const activeStatuses = ['not_started', 'pending', 'starting', 'running', 'waiting'] as const satisfies RunStatus[];

export const isTerminal = (status: RunStatus): boolean => (terminalStatuses as readonly RunStatus[]).includes(status);

/** The number of the team's next run. Call it in the transaction that inserts the run. */
export async function nextRunNumber(db: Queries, teamId: string): Promise<number> {
  const { last } = await db
    .selectFrom('runs')
    .select((select) => select.fn.max('run_number').as('last'))
    .where('team_id', '=', teamId)
    .executeTakeFirstOrThrow();
  return Number(last ?? 0) + 1;
}

export async function insertRun(db: Queries, run: Insertable<RunsTable>): Promise<RunRow> {
  return db.insertInto('runs').values(run).returningAll().executeTakeFirstOrThrow();
}

const byId = prepared((db, { id }: { id: string }) => db.selectFrom('runs').selectAll().where('id', '=', id));

export const runById = (db: Queries, id: string): Promise<RunRow | undefined> => byId.first(db, { id });

const ofTeam = prepared((db, { id, teamId }: { id: string; teamId: string }) =>
  db.selectFrom('runs').selectAll().where('id', '=', id).where('team_id', '=', teamId),
);

export const findRun = (db: Queries, teamId: string, id: string): Promise<RunRow | undefined> => ofTeam.first(db, { id, teamId });

/** Changes a run that is in one of the given statuses; the changed run, or undefined when it is in another. */
export async function changeRun(
  db: Queries,
  id: string,
  from: readonly RunStatus[],
  changes: Updateable<RunsTable>,
): Promise<RunRow | undefined> {
  return db
    .updateTable('runs')
    .set(changes)
    .where('id', '=', id)
    .where('status', 'in', [...from])
    .returningAll()
    .executeTakeFirst();
}

/** Ids of the agent's runs that have not ended. */
export async function activeRunIds(db: Queries, agentId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('agent_id', '=', agentId)
    .where('status', 'in', [...activeStatuses])
    .execute();
  return rows.map((row) => row.id);
}

/** Ids of the runs of cases that have not ended and do not wait for a person. */
export async function executingCaseRuns(db: Queries, caseIds: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('case_id', 'in', [...caseIds])
    .where('status', 'in', ['not_started', 'pending', 'starting', 'running'])
    .execute();
  return rows.map((row) => row.id);
}

/** The runs of a case, the newest first. */
export async function listCaseRunRows(db: Queries, caseId: string): Promise<(RunRow & { agent_name: string })[]> {
  return db
    .selectFrom('runs')
    .innerJoin('agents', 'agents.id', 'runs.agent_id')
    .selectAll('runs')
    .select('agents.name as agent_name')
    .where('runs.case_id', '=', caseId)
    .orderBy('runs.created_at', 'desc')
    .orderBy('runs.run_number', 'desc')
    .execute();
}
