/**
 * Gives the cases of a queue to the agents that work on it. There is one job for each queue, and a case is claimed in the
 * transaction that starts its run. So whatever happens, a case has one run at a time, and no run is without its case.
 */
import { ServiceError } from '../../errors.ts';
import type { LogEntry } from '../../log.ts';
import { planOf } from '../../store/access/plans.ts';
import { lockTeam } from '../../store/access/teams.ts';
import { insertCaseEvents } from '../../store/cases/case-events.ts';
import { admitDueCases, delegatedAgents, nextCase, nextPostponed, runsForCases } from '../../store/cases/case-line.ts';
import { triggersOnQueues } from '../../store/cases/case-triggers.ts';
import { changeCase } from '../../store/cases/cases.ts';
import type { Queries } from '../../store/database/database.ts';
import { isShared } from '../../store/database/row-locks.ts';
import type { CaseRow, JobRow, QueueRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { holdsJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import type { HasClock, HasLog, HasRuntimes, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';
import { createRun } from '../runs/lifecycle.ts';
import { caseEvent } from '../webhooks/case-events.ts';
import { recordEvents } from '../webhooks/events.ts';

/** Maximum number of runs that are started in one transaction. */
const turnLength = 20;
/** The same on a database of several nodes, where others wait for the transaction: whoever adds cases, or starts a run of the team. */
const sharedTurnLength = 5;

const maxStartedIn = (trx: Queries): number => (isShared(trx) ? sharedTurnLength : turnLength);

/** Milliseconds until an agent that could not be started (the plan is exhausted, it has no revision) is retried. */
const retryAfter = 60_000;

/** Milliseconds until cases are dispatched again that another transaction was changing. */
const lockedDelay = 250;

/** An agent that may take cases of the queue, and how many it may take now. */
interface Consumer {
  agentId: string;
  /** Whether it may only take cases that were delegated to it. */
  ownOnly: boolean;
  capacity: number;
}

/** What a transaction has done, and why runs could not be started, for the log. */
interface Turn {
  startedCount: number;
  refusals: readonly LogEntry['fields'][];
  /** Whether another transaction was changing a case that could be taken. */
  hasLocked: boolean;
}

const noTurn: Turn = { startedCount: 0, refusals: [], hasLocked: false };

/** Gives the cases of one queue to its agents. */
export const dispatchCasesJob = defineJob({ kind: jobKinds.dispatchCases, concurrency: 2, run: dispatchCases });

async function dispatchCases(engine: HasStore & HasClock & HasLog & HasRuntimes, job: JobRow): Promise<void> {
  const { startedCount, refusals } = await engine.store.transaction().execute(async (trx): Promise<Turn> => {
    // The team first, because runs that end lock it before this job.
    const team = isShared(trx) ? await teamOfQueue(trx, job.subject_id) : undefined;
    if (team !== undefined) await lockTeam(trx, team);
    if (!(await holdsJob(trx, job))) return noTurn;
    const queue = await trx.selectFrom('queues').selectAll().where('id', '=', job.subject_id).executeTakeFirst();
    const consumers = queue === undefined ? [] : await consumersOf(trx, queue);
    // One timestamp for both: a case that came due in between would be neither served nor waited for.
    const now = engine.clock.now();
    const turn = queue === undefined ? noTurn : await takeTurn(engine, trx, queue, consumers, now);
    // Released in the same transaction, so that whatever is added later finds a job that is not running, and makes it due.
    const dueAt = consumers.length === 0 ? undefined : await nextDispatch(trx, job.subject_id, turn, now);
    await releaseJob(trx, job, dueAt === undefined ? { status: 'done' } : { status: 'queued', dueAt });
    return turn;
  });
  for (const refusal of refusals) engine.log('warn', 'a case could not be started', refusal);
  if (startedCount > 0) engine.log('info', 'cases dispatched', { queue: job.subject_id, cases: startedCount });
}

const teamOfQueue = async (trx: Queries, id: string): Promise<string | undefined> =>
  (await trx.selectFrom('queues').select('team_id').where('id', '=', id).executeTakeFirst())?.team_id;

async function consumersOf(trx: Queries, queue: QueueRow): Promise<Consumer[]> {
  const triggers = await triggersOnQueues(trx, [queue.id]);
  const delegatedIds = await delegatedAgents(trx, queue.id);
  const workingIds = triggers.filter(({ enabled }) => enabled === 1).map(({ agent_id }) => agent_id);
  const { maxConcurrentRuns } = await planOf(trx, queue.team_id);
  const consumers: Consumer[] = [];
  for (const agentId of new Set([...workingIds, ...delegatedIds])) {
    const { concurrency = null } = triggers.find((trigger) => trigger.agent_id === agentId) ?? {};
    const { executing, waiting } = await runsForCases(trx, queue.id, agentId);
    // With a limit of one, the next case waits for the person, too. Without a limit, a waiting run does not occupy a slot.
    const capacity = concurrency === null ? maxConcurrentRuns - executing : concurrency - executing - waiting;
    consumers.push({ agentId, ownOnly: !workingIds.includes(agentId), capacity });
  }
  return consumers;
}

/** Gives one case to each agent in turn, as long as there is capacity and work. */
async function takeTurn(
  engine: HasClock & HasRuntimes,
  trx: Queries,
  queue: QueueRow,
  consumers: readonly Consumer[],
  time: number,
): Promise<Turn> {
  const now = isoTime(time);
  let hasLocked = !(await admitDueCases(trx, queue.id, now));
  let startedCount = 0;
  const refusals: LogEntry['fields'][] = [];
  let available = consumers.filter(({ capacity }) => capacity > 0);
  while (available.length > 0 && startedCount < maxStartedIn(trx)) {
    const remaining = new Set<Consumer>();
    for (const consumer of available) {
      const row = await nextCase(trx, { queueId: queue.id, ...consumer });
      if (row === 'locked') hasLocked = true;
      if (row === undefined || row === 'locked') continue;
      try {
        await begin(engine, trx, queue, row, consumer.agentId);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        refusals.push({ queue: queue.id, agent: consumer.agentId, error: error.error, message: error.message });
        continue;
      }
      startedCount += 1;
      consumer.capacity -= 1;
      if (consumer.capacity > 0) remaining.add(consumer);
    }
    available = available.filter((consumer) => remaining.has(consumer));
  }
  return { startedCount, refusals, hasLocked };
}

/** Starts the run of a case, and claims the case for it. */
async function begin(engine: HasClock & HasRuntimes, trx: Queries, queue: QueueRow, row: CaseRow, agentId: string): Promise<void> {
  const run = await createRun(engine, trx, {
    teamId: queue.team_id,
    agentId,
    source: row.delegated_agent_id === null ? 'case_trigger' : 'case_delegation',
    message: row.data === '' ? row.title : `${row.title}\n\n${row.data}`,
    case: { id: row.id, title: row.title },
  });
  const claim = { claimed_by_run_id: run.id, claimed_at: run.created_at, postponed_to: null, updated_at: run.created_at };
  const claimedCase = await changeCase(trx, row.id, { status: 'pending', runId: null }, claim);
  if (claimedCase === undefined) throw new Error('the case was claimed within the transaction');
  await insertCaseEvents(trx, [row.id], { type: 'claimed', runId: run.id, agentId }, run.created_at);
  const event = caseEvent(trx, 'queue.case.claimed', queue, claimedCase, run.created_at);
  await recordEvents(engine.clock, trx, { teamId: queue.team_id }, [event]);
}

/** When the queue must be dispatched again on its own. In addition, it is dispatched whenever capacity is freed or a case is added. */
async function nextDispatch(
  trx: Queries,
  queueId: string,
  { startedCount, refusals, hasLocked }: Turn,
  now: number,
): Promise<number | undefined> {
  if (startedCount >= maxStartedIn(trx)) return now;
  const postponedUntil = await nextPostponed(trx, queueId, isoTime(now));
  const retries = [...(refusals.length > 0 ? [now + retryAfter] : []), ...(hasLocked ? [now + lockedDelay] : [])];
  const times = [...retries, ...(postponedUntil === undefined ? [] : [Date.parse(postponedUntil)])];
  return times.length === 0 ? undefined : Math.min(...times);
}
