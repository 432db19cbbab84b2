/** Starts and stops runs. Each change is one transaction; the worker is woken afterwards. */

import { shorten } from '../../../base/values.ts';
import type { RevisionConfig } from '../../../interface/types.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { requireRoomForRun } from '../../plans/plan-limits.ts';
import { planOf } from '../../store/access/plans.ts';
import { lockTeam } from '../../store/access/teams.ts';
import { findLiveAgent, type LiveAgent } from '../../store/agents/agents.ts';
import { keepProcedure } from '../../store/agents/builds.ts';
import type { Queries } from '../../store/database/database.ts';
import type { RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob, revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { withdrawRequests } from '../../store/runs/human-requests.ts';
import { appendMessages } from '../../store/runs/messages.ts';
import { activeStatuses, changeRun, findRun, insertRun, nextRunNumber } from '../../store/runs/runs.ts';
import { findSandbox, insertSandbox, keepSandbox } from '../../store/runs/sandboxes.ts';
import { type CaseEnd, caseRunEnded } from '../cases/run-end.ts';
import type { HasClock, HasRuntimes, HasStore, HasWebhooks, HasWorker } from '../engine.ts';
import { type Procedure, procedureOf } from '../revision/procedure.ts';
import { messageEvents, recordRunEvents, runEvent } from '../webhooks/run-events.ts';
import { checkWebhookUrl } from '../webhooks/subscriptions.ts';
import { planEvaluation } from './evaluations.ts';
import { postedMessage } from './messages.ts';
import { addRepository, type RequestedRepository } from './workspace-repository.ts';

export interface RunStart {
  teamId: string;
  agentId: string;
  /** What started it: `api`, `mcp`, `schedule` ... */
  source: string;
  message?: string | undefined;
  sandboxId?: string | undefined;
  webhookUrl?: string | undefined;
  /** The repository on which the run works; it must have been checked. */
  repository?: RequestedRepository | undefined;
  /** The case that the run will work on. The run is named after it. */
  case?: { id: string; title: string };
}

/**
 * Starts a run of the agent's live revision. Throws 404 for an unknown agent or sandbox, 403 `plan_limit_reached`,
 * 409 `agent_has_no_live_revision` or `sandbox_has_repository`, or 400 for a URL that webhooks cannot be sent to.
 */
export async function startRun(engine: HasStore & HasClock & HasRuntimes & HasWorker & HasWebhooks, start: RunStart): Promise<RunRow> {
  const webhookUrl = start.webhookUrl === undefined ? undefined : await checkWebhookUrl(engine, start.webhookUrl, 'webhook_url');
  const run = await engine.store.transaction().execute((trx) => createRun(engine, trx, { ...start, webhookUrl }));
  engine.worker.wake();
  return run;
}

/** The same within a transaction of the caller, which must wake the worker after the commit. */
export async function createRun(engine: HasClock & HasRuntimes, trx: Queries, start: RunStart): Promise<RunRow> {
  // The number locks the team, like whoever deletes the agent or makes another revision live: the agent is read after that.
  const [plan, number, agent] = await Promise.all([
    planOf(trx, start.teamId),
    nextRunNumber(trx, start.teamId),
    findLiveAgent(trx, start.teamId, start.agentId),
  ]);
  if (agent === undefined) throw notFound('agent', start.agentId);
  await requireRoomForRun(trx, start.teamId, plan, engine.clock.now());
  const { buildId, procedure } = liveProcedure(engine, agent);
  await keepProcedure(trx, procedure.hash, procedure.text);
  const now = isoTime(engine.clock.now());
  const sandboxId = await sandboxFor(trx, start, now);
  if (start.repository !== undefined) await addRepository(trx, start.repository, { sandboxId, teamId: start.teamId, number, now });
  const message = start.message?.trim() ? start.message : undefined;
  const title = runTitle(agent.name, number, start.case?.title ?? message);
  const run = await insertRun(trx, {
    id: newId(),
    team_id: start.teamId,
    agent_id: agent.id,
    build_id: buildId,
    run_number: number,
    title,
    title_folded: title.toLowerCase(),
    status: 'pending',
    source: start.source,
    sandbox_id: sandboxId,
    runtime: procedure.runtime.name,
    procedure_hash: procedure.hash,
    turn: 1,
    submitted_prompt_count: message === undefined ? 0 : 1,
    unread_message: null,
    resume_count: 0,
    exec_level: null,
    error: null,
    webhook_url: start.webhookUrl ?? null,
    case_id: start.case?.id ?? null,
    created_at: now,
    updated_at: now,
    started_at: null,
    completed_at: null,
  });
  if (message !== undefined) {
    const messages = await appendMessages(trx, run.id, [postedMessage(run, message, now)]);
    await recordRunEvents(engine.clock, trx, run, messageEvents(trx, run, messages));
  }
  await enqueueJob(trx, { kind: jobKinds.run, subjectId: run.id, dueAt: engine.clock.now(), lane: run.team_id });
  return run;
}

/**
 * Interrupts a run, whatever it is doing, and withdraws its human requests. A run that has ended is left unchanged.
 * Throws 404 for an unknown run.
 */
export async function stopRun(
  engine: HasStore & HasClock & HasWorker,
  teamId: string,
  runId: string,
): Promise<{ run: RunRow; stopped: boolean }> {
  const result = await engine.store.transaction().execute(async (trx) => {
    await lockTeam(trx, teamId);
    const run = await findRun(trx, teamId, runId);
    if (run === undefined) throw notFound('run', runId);
    const stoppedRun = await interruptRun(engine, trx, runId);
    return { run: stoppedRun ?? run, stopped: stoppedRun !== undefined };
  });
  if (result.stopped) abortDrivers(engine, [runId]);
  return result;
}

/** Interrupts runs of an agent that is being deleted, within a transaction. Pass their IDs to `abortDrivers` after the commit. */
export async function interruptRuns(engine: HasClock, trx: Queries, ids: readonly string[]): Promise<void> {
  for (const id of ids) await interruptRun(engine, trx, id, { outcome: 'released', reason: 'The agent was deleted.' });
}

/** Ends the work of this process on runs that were interrupted, and gets their webhooks delivered. */
export function abortDrivers(engine: HasWorker, runIds: string[]): void {
  for (const id of runIds) engine.worker.abort(jobKinds.run, id, 'stopped');
  engine.worker.wake();
}

/**
 * Interrupts one run within a transaction, which has locked the team unless the run is being executed. Returns undefined if it has already
 * ended.
 */
export async function interruptRun(
  engine: HasClock,
  trx: Queries,
  runId: string,
  caseEnd: CaseEnd = { outcome: 'failed', reason: 'The run was stopped.' },
): Promise<RunRow | undefined> {
  const now = isoTime(engine.clock.now());
  const run = await changeRun(trx, runId, activeStatuses, { status: 'interrupted', completed_at: now, updated_at: now });
  if (run === undefined) return undefined;
  await withdrawRequests(trx, runId);
  // From here on, the driver can no longer write, wherever it is.
  await revokeJob(trx, jobKinds.run, runId);
  await recordRunEvents(engine.clock, trx, run, [runEvent(trx, 'run.failed', run)]);
  await caseRunEnded(engine, trx, run, caseEnd);
  await planEvaluation(engine, trx, run);
  return run;
}

interface LiveProcedure {
  buildId: string;
  procedure: Procedure;
}

/** By agent, as long as neither it nor its revision changes: parsing the configuration takes longer than reading it. */
const liveProcedures = new WeakMap<LiveAgent, LiveProcedure>();

/** Throws 409 `agent_has_no_live_revision`. */
function liveProcedure(engine: HasRuntimes, agent: LiveAgent): LiveProcedure {
  const known = liveProcedures.get(agent);
  if (known !== undefined) return known;
  const { live_build_id: buildId, config } = agent;
  if (buildId === null || config === null) {
    throw new ServiceError(409, 'agent_has_no_live_revision', `The agent ${agent.name} has no live revision; create one and promote it.`);
  }
  const live = { buildId, procedure: procedureOf(engine.runtimes, JSON.parse(config) as RevisionConfig) };
  liveProcedures.set(agent, live);
  return live;
}

async function sandboxFor(trx: Queries, start: RunStart, now: string): Promise<string> {
  if (start.sandboxId === undefined) {
    const id = newId();
    await insertSandbox(trx, { id, team_id: start.teamId, created_at: now, expires_at: null, removed_at: null });
    return id;
  }
  const sandbox = await findSandbox(trx, start.teamId, start.sandboxId);
  if (sandbox === undefined) throw notFound('sandbox', start.sandboxId);
  await keepSandbox(trx, sandbox.id);
  return sandbox.id;
}

const maxTitleLength = 80;

/** The first line of the message, or the name of the agent and the number of the run. */
function runTitle(agentName: string, number: number, message: string | undefined): string {
  const line = message
    ?.split(/\r?\n/)
    .map((text) => text.trim())
    .find((text) => text !== '');
  if (line === undefined) return `${agentName} #${number}`;
  return shorten(line, maxTitleLength);
}
