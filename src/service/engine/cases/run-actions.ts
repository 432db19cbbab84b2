/** What runs can do with cases, in the transaction of the step that does it. */
import { notFound, ServiceError } from '../../errors.ts';
import type { CaseAction, RunCase } from '../../runtimes/run-host.ts';
import { findAgentNamed } from '../../store/agents/agents.ts';
import { caseById } from '../../store/cases/cases.ts';
import { labelsOf } from '../../store/cases/labels.ts';
import { findQueueNamed } from '../../store/cases/queues.ts';
import type { Queries } from '../../store/database/database.ts';
import type { CaseRow, RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { priorityWord } from '../../views/cases.ts';
import type { HasClock } from '../engine.ts';
import { createCases } from './create.ts';
import { type CaseEnd, leaveCase } from './run-end.ts';

/** The current state of the case of a run; undefined if it has none, or the case was deleted. */
export async function caseOfRun(db: Queries, run: RunRow): Promise<RunCase | undefined> {
  const row = run.case_id === null ? undefined : await caseById(db, run.case_id);
  if (row === undefined) return undefined;
  const queue = await db.selectFrom('queues').select('name').where('id', '=', row.queue_id).executeTakeFirstOrThrow();
  return {
    id: row.id,
    title: row.title,
    data: row.data,
    priority: priorityWord(row.priority),
    labels: ((await labelsOf(db, [row.id])).get(row.id) ?? []).map(({ key, value }) => ({ key, value })),
    queue: queue.name,
    createdAt: row.created_at,
  };
}

/** Carries out an action. Throws 409 `run_has_no_case`, `case_lost`, or `case_is_done`, 404 `queue_not_found`, 400 `invalid_case`. */
export async function carryOut(engine: HasClock, trx: Queries, run: RunRow, action: CaseAction): Promise<object> {
  if (action.do === 'create') return createFor(engine, trx, run, action);
  const row = await ownCase(trx, run);
  const end = endOf(action);
  if (row.status !== 'pending') {
    if (row.status === end.outcome) return { case_id: row.id, status: row.status };
    throw new ServiceError(409, 'case_is_done', `The case is already ${row.status}.`);
  }
  const releasedCase = await leaveCase(engine, trx, run, row, end);
  return end.outcome === 'postponed'
    ? { case_id: row.id, postponed_to: releasedCase.postponed_to }
    : { case_id: row.id, status: releasedCase.status };
}

function endOf(action: Exclude<CaseAction, { do: 'create' }>): CaseEnd {
  switch (action.do) {
    case 'complete':
      return { outcome: 'completed', reason: action.reason };
    case 'fail':
      return { outcome: 'failed', reason: action.reason };
    case 'postpone':
      return { outcome: 'postponed', until: action.until, reason: action.reason };
  }
}

/** The case that the run has claimed, done or not. */
async function ownCase(trx: Queries, run: RunRow): Promise<CaseRow> {
  if (run.case_id === null) {
    throw new ServiceError(
      409,
      'run_has_no_case',
      'The run is not working on a case; a case trigger starts runs for the cases of a queue.',
    );
  }
  const row = await caseById(trx, run.case_id);
  if (row?.claimed_by_run_id === run.id) return row;
  const reason = row === undefined ? 'it was deleted' : 'it was postponed or re-opened';
  throw new ServiceError(409, 'case_lost', `The case no longer belongs to this run: ${reason}.`);
}

async function createFor(
  engine: HasClock,
  trx: Queries,
  run: RunRow,
  { queue: name, draft, agent }: Extract<CaseAction, { do: 'create' }>,
): Promise<object> {
  const queue = await findQueueNamed(trx, run.team_id, name);
  if (queue === undefined) throw notFound('queue', `"${name}"`);
  const length = [...draft.title].length;
  if (draft.title.trim() === '' || length > 500) {
    throw new ServiceError(400, 'invalid_case', `The title of a case must have 1 to 500 characters, not ${length}.`);
  }
  if (draft.labels?.some(({ value }) => value === '')) throw new ServiceError(400, 'invalid_case', 'A label is empty.');
  const delegatedAgentId = agent === undefined ? undefined : await handoverTarget(trx, run, agent);
  const [row] = await createCases(engine, trx, queue, [draft], { runId: run.id, agentId: run.agent_id, delegatedAgentId });
  return { id: row?.id, queue: queue.name, title: draft.title, created_at: isoTime(engine.clock.now()) };
}

/** The ID of an agent that the revision of the run may hand work to, by its name. */
async function handoverTarget(trx: Queries, run: RunRow, name: string): Promise<string> {
  const build = await trx.selectFrom('builds').select('handover_target_ids').where('id', '=', run.build_id).executeTakeFirst();
  const targets = JSON.parse(build?.handover_target_ids ?? '[]') as string[];
  const agent = await findAgentNamed(trx, run.team_id, name);
  if (agent === undefined) throw notFound('agent', `"${name}"`);
  if (targets.includes(agent.id)) return agent.id;
  throw new ServiceError(409, 'not_a_handover_target', `The agent ${name} is not a handover target of this revision.`);
}
