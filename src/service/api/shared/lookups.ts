/** Looks up the objects that a path refers to. For a caller, the objects of other teams do not exist. */
import { notFound } from '../../errors.ts';
import type { RequestContext } from '../../http/context.ts';
import { findAgent } from '../../store/agents/agents.ts';
import { findBuild } from '../../store/agents/builds.ts';
import { findCase } from '../../store/cases/cases.ts';
import { findQueue } from '../../store/cases/queues.ts';
import type { Queries } from '../../store/database/database.ts';
import type { AgentRow, BuildRow, CaseRow, QueueRow, RunRow } from '../../store/database/schema.ts';
import { findRun } from '../../store/runs/runs.ts';

/** Throws 404 `team_not_found` unless the team is that of the credential. */
export function requireTeam(context: Pick<RequestContext, 'teamId'>, teamId: string): void {
  if (teamId !== context.teamId) throw notFound('team', teamId);
}

/** The agent. Throws 404 `agent_not_found`. */
export async function requireAgent(context: RequestContext, db: Queries, id: string): Promise<AgentRow> {
  const agent = await findAgent(db, context.teamId, id);
  if (agent === undefined) throw notFound('agent', id);
  return agent;
}

/** The revision. Throws 404 `revision_not_found`. */
export async function requireBuild(context: RequestContext, db: Queries, id: string): Promise<BuildRow> {
  const build = await findBuild(db, context.teamId, id);
  if (build === undefined) throw notFound('revision', id);
  return build;
}

/** The run. Throws 404 `run_not_found`, also if an agent is specified and the run belongs to another one. */
export async function requireRun(context: RequestContext, id: string, agentId?: string): Promise<RunRow> {
  const run = await findRun(context.engine.store, context.teamId, id);
  if (run === undefined || (agentId !== undefined && run.agent_id !== agentId)) throw notFound('run', id);
  return run;
}

/** The queue. Throws 404 `queue_not_found`. */
export async function requireQueue(context: RequestContext, db: Queries, id: string): Promise<QueueRow> {
  const queue = await findQueue(db, context.teamId, id);
  if (queue === undefined) throw notFound('queue', id);
  return queue;
}

/** The case. Throws 404 `case_not_found`, also if a queue is specified and the case is in another one. */
export async function requireCase(context: RequestContext, db: Queries, id: string, queueId?: string): Promise<CaseRow> {
  const row = await findCase(db, context.teamId, id);
  if (row === undefined || (queueId !== undefined && row.queue_id !== queueId)) throw notFound('case', id);
  return row;
}
