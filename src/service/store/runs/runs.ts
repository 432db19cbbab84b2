/** Single runs. Lists are in run-list.ts. */
import type { Updateable } from 'kysely';
import type { RunStatus } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { columnsOf, namesOf, preparedQuery } from '../database/prepared.ts';
import { holdsLock, isShared, lockIfDeciding, lockRows } from '../database/row-locks.ts';
import type { RunRow, RunsTable } from '../database/schema.ts';
import { asStored } from '../database/stored-values.ts';
import { addToTotals, moveInTotals } from './run-totals.ts';

/** Statuses of ended runs, which only a message can change. */
export const terminalStatuses = ['completed', 'failed', 'interrupted'] as const satisfies RunStatus[];

/** Statuses of runs that can be stopped. */
export const activeStatuses = ['not_started', 'pending', 'starting', 'running', 'waiting'] as const satisfies RunStatus[];

export const isTerminal = (status: RunStatus): boolean => (terminalStatuses as readonly RunStatus[]).includes(status);

/** The number of the team's next run. Call it in the transaction that inserts the run. */
export async function nextRunNumber(db: Queries, teamId: string): Promise<number> {
  // The database locks the team before it answers the question.
  const [, { last, removed }] = await Promise.all([lockRows(db, 'teams', [teamId]), lastNumber.only(db, { teamId })]);
  return Math.max(Number(last ?? 0), Number(removed)) + 1;
}

const lastNumber = preparedQuery((db, { teamId }: { teamId: string }) =>
  db
    .selectFrom('teams')
    .select((select) => [
      'last_removed_run as removed',
      select
        .selectFrom('runs')
        .select((last) => last.fn.max('run_number').as('last'))
        .where('runs.team_id', '=', teamId)
        .as('last'),
    ])
    .where('id', '=', teamId),
);

const insertQuery = preparedQuery(
  (db, run: RunRow, values) => db.insertInto('runs').values(columnsOf(run, values)),
  (run) => namesOf(run).join(),
);

/** Call it in a transaction. */
export async function insertRun(trx: Queries, run: RunRow): Promise<RunRow> {
  await insertQuery.send(trx, run);
  await addToTotals(trx, run, 1);
  return asStored(run);
}

const byId = preparedQuery((db, { id }: { id: string }) => db.selectFrom('runs').selectAll().where('id', '=', id));

export async function runById(db: Queries, id: string): Promise<RunRow | undefined> {
  await lockIfDeciding(db, 'runs', id);
  return byId.first(db, { id });
}

const ofTeam = preparedQuery((db, { id, teamId }: { id: string; teamId: string }) =>
  db.selectFrom('runs').selectAll().where('id', '=', id).where('team_id', '=', teamId),
);

export async function findRun(db: Queries, teamId: string, id: string): Promise<RunRow | undefined> {
  await lockIfDeciding(db, 'runs', id);
  return ofTeam.first(db, { id, teamId });
}

const statusOf = preparedQuery((db, { id }: { id: string }) => db.selectFrom('runs').select('status').where('id', '=', id));

type RunUpdate = Updateable<RunsTable> & { changedId: string; from: RunStatus };

const update = (db: Queries, parameters: RunUpdate, { changedId: _, from: __, ...columns }: RunUpdate) =>
  db.updateTable('runs').set(columnsOf(parameters, columns)).where('id', '=', parameters.changedId).where('status', '=', parameters.from);

const updateQuery = preparedQuery(update, (values) => namesOf(values).join());

const changeQuery = preparedQuery(
  (db, parameters: RunUpdate, values) => update(db, parameters, values).returningAll(),
  (values) => namesOf(values).join(),
);

/**
 * Changes a run that has one of the statuses. Returns the changed run, or undefined if it has a different one. Call it in a
 * transaction.
 */
export async function changeRun(
  trx: Queries,
  id: string,
  from: readonly RunStatus[],
  changes: Updateable<RunsTable>,
): Promise<RunRow | undefined> {
  // If there is only one, the update finds out whether the run has it, and locks the run.
  if (from.length > 1) await lockIfDeciding(trx, 'runs', id);
  for (;;) {
    const before = from.length === 1 ? from[0] : (await statusOf.first(trx, { id }))?.status;
    if (before === undefined || !from.includes(before)) return undefined;
    const row = await changeQuery.first(trx, { ...changes, changedId: id, from: before });
    if (row === undefined && from.length === 1) return undefined;
    // Otherwise another node was faster, and the run has a different status now.
    if (row === undefined) continue;
    await moveInTotals(trx, row, before);
    return row;
  }
}

/**
 * Changes a run that was read in the same transaction. Returns the changed run, or undefined if its status is no longer the one that was
 * read.
 */
export async function changeReadRun<Run extends RunRow>(trx: Queries, run: Run, changes: Partial<RunRow>): Promise<Run | undefined> {
  const values = { ...changes, changedId: run.id, from: run.status };
  // Nobody else can change a locked run, so the change has an effect.
  if (holdsLock(trx, 'runs', run.id)) await updateQuery.send(trx, values);
  else if (isShared(trx)) {
    // Others may have changed other columns since.
    const row = await changeRun(trx, run.id, [run.status], changes);
    return row && { ...run, ...row };
  } else if ((await updateQuery.change(trx, values)) === 0) return undefined;
  // Letting the database return the row takes longer than the change.
  const row: Run = { ...run, ...asStored(changes) };
  await moveInTotals(trx, row, run.status);
  return row;
}

/** The IDs of the runs of an agent of the team that have not ended. */
export async function activeRunIds(db: Queries, { teamId, agentId }: { teamId: string; agentId: string }): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('agent_id', '=', (from) => from.selectFrom('agents').select('id').where('id', '=', agentId).where('team_id', '=', teamId))
    .where('status', 'in', [...activeStatuses])
    .execute();
  return rows.map((row) => row.id);
}

/** The IDs of the runs of cases that have not ended and are not waiting for a person. */
export async function executingCaseRuns(db: Queries, caseIds: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('case_id', 'in', [...caseIds])
    .where('status', 'in', ['not_started', 'pending', 'starting', 'running'])
    .execute();
  return rows.map((row) => row.id);
}

/** The runs of a case, newest first. */
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
