/**
 * The cases that wait to be taken, in order: postponed cases that are due come first, then the order is by priority and age.
 * A delegated case waits for its agent only. Every query here reads a few entries of an index, however many cases are waiting.
 */
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import { isShared, lockRowNow } from '../database/row-locks.ts';
import type { CaseRow } from '../database/schema.ts';
import { activeStatuses } from '../runs/runs.ts';

/** The ranks of waiting cases, in the order in which they are taken. Cases that are still postponed are not taken. */
export const lineRanks = { due: 0, waiting: 1, postponed: 2 } as const;

// Literals, because SQLite uses a partial index only if the statement itself, without its parameters, implies its condition.
const inLine = sql<boolean>`status = 'pending' and claimed_by_run_id is null`;
const isPostponed = sql<boolean>`line_rank = 2 and status = 'pending' and claimed_by_run_id is null`;

/**
 * Moves postponed cases that are due at `now` (ISO 8601) to the front. Call it in a transaction. Returns whether that is so for all of
 * them: cases that another transaction has locked are left out, because changes of many cases take long.
 */
export async function admitDueCases(db: Queries, queueId: string, now: string): Promise<boolean> {
  // Checked first, because an update of no rows would count as a change of the table.
  if ((await firstDue.first(db, { queueId, now })) === undefined) return true;
  const admission = db.updateTable('cases').set({ line_rank: lineRanks.due });
  if (!isShared(db)) {
    await admission.where(isDue({ queueId, now })).execute();
    return true;
  }
  await admission.where('id', 'in', dueCases(db, { queueId, now }).forNoKeyUpdate().skipLocked()).execute();
  return (await firstDue.first(db, { queueId, now })) === undefined;
}

const isDue = ({ queueId, now }: { queueId: string; now: string }) =>
  sql<boolean>`queue_id = ${queueId} and postponed_to <= ${now} and ${isPostponed}`;

const dueCases = (db: Queries, values: { queueId: string; now: string }) => db.selectFrom('cases').select('id').where(isDue(values));

const firstDue = preparedQuery((db, values: { queueId: string; now: string }) => dueCases(db, values).limit(1));

/** The place of an agent. `ownOnly` excludes the cases that any agent of the queue may take. */
interface Place {
  queueId: string;
  agentId: string;
  ownOnly: boolean;
}

/**
 * The next case for an agent, or `locked` if another transaction is changing it, which is not waited for: it may change many cases. Call
 * it in a transaction.
 */
export async function nextCase(trx: Queries, place: Place): Promise<CaseRow | 'locked' | undefined> {
  let row = await firstInLine(trx, place);
  if (!isShared(trx)) return row;
  // Before the row was locked, somebody may have changed the case, or its place.
  for (let lockedId: string | undefined; row !== undefined && row.id !== lockedId; row = await firstInLine(trx, place)) {
    lockedId = row.id;
    if (!(await lockRowNow(trx, 'cases', lockedId))) return 'locked';
  }
  return row;
}

async function firstInLine(db: Queries, line: Place): Promise<CaseRow | undefined> {
  const delegatedCase = await firstDelegated.first(db, line);
  const openCase = line.ownOnly ? undefined : await firstOpen.first(db, line);
  if (delegatedCase === undefined || openCase === undefined) return delegatedCase ?? openCase;
  return isBefore(openCase, delegatedCase) ? openCase : delegatedCase;
}

const firstDelegated = preparedQuery((db, { queueId, agentId }: { queueId: string; agentId: string }) =>
  firstOf(db, queueId).where('delegated_agent_id', '=', agentId),
);

const firstOpen = preparedQuery((db, { queueId }: { queueId: string }) => firstOf(db, queueId).where('delegated_agent_id', 'is', null));

const firstOf = (db: Queries, queueId: string) =>
  db
    .selectFrom('cases')
    .selectAll()
    .where('queue_id', '=', queueId)
    .where(inLine)
    .where('line_rank', '<', lineRanks.postponed)
    .orderBy('line_rank')
    .orderBy('priority', 'desc')
    .orderBy('created_at')
    .orderBy('number')
    .limit(1);

/** Whether a case is taken before another case of its queue. */
function isBefore(a: CaseRow, b: CaseRow): boolean {
  if (a.line_rank !== b.line_rank) return a.line_rank < b.line_rank;
  if (a.priority !== b.priority) return a.priority > b.priority;
  return a.created_at === b.created_at ? a.number < b.number : a.created_at < b.created_at;
}

/** When the next postponed case of the queue is due, after a moment. */
export async function nextPostponed(db: Queries, queueId: string, after: string): Promise<string | undefined> {
  return (await earliestAfter.first(db, { queueId, after }))?.postponed_to ?? undefined;
}

const earliestAfter = preparedQuery((db, { queueId, after }: { queueId: string; after: string }) =>
  db
    .selectFrom('cases')
    .select('postponed_to')
    .where('queue_id', '=', queueId)
    .where('postponed_to', '>', after)
    .where(isPostponed)
    .orderBy('postponed_to')
    .limit(1),
);

/** Agents that cases waiting in the queue are delegated to, in the order of their IDs. */
export async function delegatedAgents(db: Queries, queueId: string): Promise<string[]> {
  const agents: string[] = [];
  // One lookup for each agent, not for each of its cases.
  for (;;) {
    const next = (await delegatedAfter.first(db, { queueId, last: agents.at(-1) ?? '' }))?.delegated_agent_id ?? undefined;
    if (next === undefined) return agents;
    agents.push(next);
  }
}

const delegatedAfter = preparedQuery((db, { queueId, last }: { queueId: string; last: string }) =>
  db
    .selectFrom('cases')
    .select('delegated_agent_id')
    .where('queue_id', '=', queueId)
    .where('delegated_agent_id', '>', last)
    .where(inLine)
    .orderBy('delegated_agent_id')
    .limit(1),
);

/** How many runs of the agent work on cases of the queue: those being executed, and those waiting for a person with an open case. */
export async function runsForCases(db: Queries, queueId: string, agentId: string): Promise<{ executing: number; waiting: number }> {
  const rows = await db
    .selectFrom('runs')
    .innerJoin('cases', 'cases.id', 'runs.case_id')
    .select((select) => ['runs.status as status', select.fn.countAll<number>().as('count')])
    .where('runs.agent_id', '=', agentId)
    .where('runs.status', 'in', [...activeStatuses])
    .where('cases.queue_id', '=', queueId)
    .where((where) =>
      where.or([
        where('runs.status', '!=', 'waiting'),
        where.and([where('cases.claimed_by_run_id', '=', where.ref('runs.id')), where('cases.status', '=', 'pending')]),
      ]),
    )
    .groupBy('runs.status')
    .execute();
  const count = (isWaiting: boolean): number =>
    rows.reduce((sum, row) => ((row.status === 'waiting') === isWaiting ? sum + Number(row.count) : sum), 0);
  return { executing: count(false), waiting: count(true) };
}
