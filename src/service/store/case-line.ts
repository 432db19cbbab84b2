/**
 * The line of cases that wait to be taken, in the order of pick-up: postponed ones that are due, then higher priority, then
 * age. A case that was delegated is in the line of its agent alone.
 */
import type { Queries } from './database.ts';
import { activeStatuses } from './runs.ts';
import type { CaseRow } from './schema.ts';

/** The first case in line for an agent. `ownOnly` leaves those out that any agent of the queue may take. */
export async function nextCase(
  db: Queries,
  line: { queueId: string; agentId: string; ownOnly: boolean; now: string },
): Promise<CaseRow | undefined> {
  return db
    .selectFrom('cases')
    .selectAll()
    .where('queue_id', '=', line.queueId)
    .where('status', '=', 'pending')
    .where('claimed_by_run_id', 'is', null)
    .where((where) => where.or([where('postponed_to', 'is', null), where('postponed_to', '<=', line.now)]))
    .where((where) =>
      where.or([where('delegated_agent_id', '=', line.agentId), ...(line.ownOnly ? [] : [where('delegated_agent_id', 'is', null)])]),
    )
    .orderBy((by) => by.case().when('postponed_to', 'is', null).then(1).else(0).end())
    .orderBy('priority', 'desc')
    .orderBy('created_at')
    .orderBy('number')
    .limit(1)
    .executeTakeFirst();
}

/** When the next postponed case of the queue is due, after a moment. */
export async function nextPostponed(db: Queries, queueId: string, after: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('cases')
    .select((select) => select.fn.min('postponed_to').as('next'))
    .where('queue_id', '=', queueId)
    .where('status', '=', 'pending')
    .where('claimed_by_run_id', 'is', null)
    .where('postponed_to', '>', after)
    .executeTakeFirst();
  return row?.next ?? undefined;
}

/** Agents that alone may take cases which wait in the queue. */
export async function delegatedAgents(db: Queries, queueId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('cases')
    .select('delegated_agent_id')
    .distinct()
    .where('queue_id', '=', queueId)
    .where('status', '=', 'pending')
    .where('claimed_by_run_id', 'is', null)
    .where('delegated_agent_id', 'is not', null)
    .orderBy('delegated_agent_id')
    .execute();
  return rows.map((row) => row.delegated_agent_id as string);
}

/** Runs of the agent for cases of the queue: those that are executed, and those that wait for a person with a case that is not done. */
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
  const count = (waits: boolean): number =>
    rows.reduce((sum, row) => ((row.status === 'waiting') === waits ? sum + Number(row.count) : sum), 0);
  return { executing: count(false), waiting: count(true) };
}
