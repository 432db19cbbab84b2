/**
 * What people can do with builder runs: generate, answer, accept, decline, discard. Each change is one transaction; the
 * worker is woken afterwards. The transitions are those of the table in docs/revisions.md.
 */

import type { HumanRequest, RevisionConfig } from '../../../interface/types.ts';
import { type ErrorDetail, notFound, ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import {
  activeBuilderRun,
  activeBuilderStatuses,
  changeBuilderRun,
  deleteBuilderRuns,
  findBuilderRun,
  insertBuilderRun,
  latestBuilderRun,
} from '../../store/agents/builder-runs.ts';
import { findBuild, updateBuildRow } from '../../store/agents/builds.ts';
import type { Queries } from '../../store/database/database.ts';
import type { BuilderRunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob, revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import type { HasClock, HasRuntimes, HasStore, HasWorker } from '../engine.ts';
import { readAnswer } from '../requests/answers.ts';
import { procedureOf } from '../revision/procedure.ts';

interface Revision {
  teamId: string;
  buildId: string;
}

/** Which builder run a person is looking at. */
export interface ReviewGuard {
  builder_run_id?: string;
  expected_started_at?: string | null;
}

/**
 * Starts a builder run on a revision. Throws 404 for an unknown revision, 409 `builder_run_active` or `runtime_has_no_builder`.
 */
export async function generateRevision(
  engine: HasStore & HasClock & HasRuntimes & HasWorker,
  { teamId, buildId }: Revision,
  prompt: string,
): Promise<BuilderRunRow> {
  const startedRun = await engine.store.transaction().execute(async (trx) => {
    const build = await findBuild(trx, teamId, buildId);
    if (build === undefined) throw notFound('revision', buildId);
    await requireNoBuilderRun(trx, build.id);
    const runtime = buildingRuntime(engine, build.config);
    const now = engine.clock.now();
    const run = await insertBuilderRun(trx, {
      id: newId(),
      agent_id: build.agent_id,
      build_id: build.id,
      status: 'running',
      mode: build.config === null ? 'create' : 'edit',
      prompt,
      runtime: runtime.name,
      phase: null,
      base_config: build.config,
      proposed_config: null,
      questions: null,
      answers: '{}',
      changes: null,
      setup_changes: null,
      schedule_suggested: 0,
      error: null,
      resolution: null,
      created_at: isoTime(now),
      updated_at: isoTime(now),
      started_at: null,
      completed_at: null,
    });
    await enqueueJob(trx, { kind: jobKinds.builderRun, subjectId: run.id, dueAt: now });
    return run;
  });
  engine.worker.wake();
  return startedRun;
}

/** Throws 409 `builder_run_active` if a builder run has not ended, because its proposal is for the revision in its current state. */
export async function requireNoBuilderRun(db: Queries, buildId: string): Promise<void> {
  const activeRun = await activeBuilderRun(db, buildId);
  if (activeRun === undefined) return;
  const advice =
    activeRun.status === 'waiting_for_approve' ? 'Accept, decline, or discard it first.' : 'Wait until it ends, or discard it first.';
  throw new ServiceError(
    409,
    'builder_run_active',
    `A builder run is active on this revision: ${activeRun.id} is ${activeRun.status}. ${advice}`,
  );
}

/** The runtime of a configuration, which must have a builder. Without a configuration, the first runtime with a builder. */
function buildingRuntime(engine: HasRuntimes, config: string | null): Runtime {
  const name = config === null ? undefined : (JSON.parse(config) as RevisionConfig).data.models.agent.model;
  const runtime = name === undefined ? [...engine.runtimes.values()].find(({ builder }) => builder) : engine.runtimes.get(name);
  if (runtime?.builder) return runtime;
  throw new ServiceError(
    409,
    'runtime_has_no_builder',
    `The runtime "${name ?? 'none'}" has no builder in this service; update the revision yourself instead.`,
  );
}

/**
 * Answers the questions of a builder run, which then continues. Throws 404, 409 `builder_run_not_waiting`, 409
 * `questions_already_answered`, 400 `invalid_answer`.
 */
export async function answerBuilderRun(
  engine: HasStore & HasClock & HasWorker,
  { teamId, builderRunId }: { teamId: string; builderRunId: string },
  body: { answers: Record<string, string>; request_id?: string },
): Promise<BuilderRunRow> {
  const answeredRun = await engine.store.transaction().execute(async (trx) => {
    const run = await findBuilderRun(trx, teamId, builderRunId);
    if (run === undefined) throw notFound('builder run', builderRunId);
    const request = run.questions === null ? undefined : (JSON.parse(run.questions) as HumanRequest);
    if (run.status !== 'waiting_for_input' || request === undefined) {
      throw new ServiceError(409, 'builder_run_not_waiting', `The builder run is ${run.status}; it is not asking any questions now.`);
    }
    if (body.request_id !== undefined && body.request_id !== request.id) {
      throw new ServiceError(
        409,
        'questions_already_answered',
        'These questions have already been answered; the builder run is asking other ones now.',
      );
    }
    const questions = request.questions ?? [];
    const { answer } = readAnswer({ type: 'question', title: request.title, questions }, { answers: body.answers });
    const answers = { ...(JSON.parse(run.answers) as object), ...(answer.type === 'question' ? answer.answers : {}) };
    const now = engine.clock.now();
    await enqueueJob(trx, { kind: jobKinds.builderRun, subjectId: run.id, dueAt: now });
    return requireRow(
      await changeBuilderRun(trx, run.id, ['waiting_for_input'], {
        status: 'running',
        phase: null,
        questions: null,
        answers: JSON.stringify(answers),
        // The builder run starts over, so a review of its previous proposal is out of date.
        started_at: null,
        updated_at: isoTime(now),
      }),
    );
  });
  engine.worker.wake();
  return answeredRun;
}

/**
 * Applies the proposal of a builder run to its revision. If the revision is live, new runs follow it immediately. Throws 404,
 * 409 `builder_run_changed`, 409 `builder_run_not_waiting_for_approve`.
 */
export async function acceptRevision(
  engine: HasStore & HasClock & HasRuntimes,
  revision: Revision,
  guard: ReviewGuard,
): Promise<BuilderRunRow> {
  return engine.store.transaction().execute(async (trx) => {
    const run = await requireReviewable(trx, revision, guard);
    const config = run.proposed_config as string;
    procedureOf(engine.runtimes, JSON.parse(config) as RevisionConfig);
    const now = isoTime(engine.clock.now());
    await updateBuildRow(trx, run.build_id, { config, updated_at: now });
    return end(trx, run, { status: 'completed', resolution: 'accepted', now });
  });
}

/** Leaves the revision unchanged. Throws like `acceptRevision`. */
export async function declineRevision(engine: HasStore & HasClock, revision: Revision, guard: ReviewGuard): Promise<BuilderRunRow> {
  return engine.store.transaction().execute(async (trx) => {
    const run = await requireReviewable(trx, revision, guard);
    return end(trx, run, { status: 'cancelled', resolution: 'declined', now: isoTime(engine.clock.now()) });
  });
}

/** Cancels a builder run, whatever it is doing. Throws 404, 409 `builder_run_not_active`. */
export async function discardRevision(engine: HasStore & HasClock & HasWorker, revision: Revision): Promise<BuilderRunRow> {
  const discardedRun = await engine.store.transaction().execute(async (trx) => {
    const run = await latestOf(trx, revision);
    if (!(activeBuilderStatuses as readonly string[]).includes(run.status)) {
      throw new ServiceError(
        409,
        'builder_run_not_active',
        `The builder run cannot be discarded; it has already ended (${run.resolution ?? run.status}).`,
      );
    }
    await revokeJob(trx, jobKinds.builderRun, run.id);
    return end(trx, run, { status: 'cancelled', resolution: 'discarded', now: isoTime(engine.clock.now()) });
  });
  engine.worker.abort(jobKinds.builderRun, discardedRun.id, 'stopped');
  return discardedRun;
}

/** Removes the builder runs of an agent within a transaction. Pass the IDs to `abortBuilders` after the commit. */
export async function removeBuilderRuns(trx: Queries, agentId: string): Promise<string[]> {
  const ids = await deleteBuilderRuns(trx, agentId);
  for (const id of ids) await revokeJob(trx, jobKinds.builderRun, id);
  return ids;
}

/** Ends the work of this process on builder runs that were removed. */
export function abortBuilders(engine: HasWorker, ids: readonly string[]): void {
  for (const id of ids) engine.worker.abort(jobKinds.builderRun, id, 'stopped');
}

/** The latest builder run of a revision. Throws 404 `revision_not_found`, 404 `builder_run_not_found`. */
export async function latestOf(db: Queries, { teamId, buildId }: Revision): Promise<BuilderRunRow> {
  const build = await findBuild(db, teamId, buildId);
  if (build === undefined) throw notFound('revision', buildId);
  const run = await latestBuilderRun(db, build.id);
  if (run !== undefined) return run;
  throw new ServiceError(404, 'builder_run_not_found', 'This revision has never had a builder run.');
}

async function requireReviewable(trx: Queries, revision: Revision, guard: ReviewGuard): Promise<BuilderRunRow> {
  const run = await latestOf(trx, revision);
  checkGuard(run, guard);
  if (run.status === 'waiting_for_approve') return run;
  const state = {
    running: 'has not proposed anything yet',
    waiting_for_input: 'is waiting for answers to its questions',
    completed: 'was already accepted',
    cancelled: `was ${run.resolution ?? 'cancelled'}`,
    failed: 'failed, so there is no proposal',
  }[run.status];
  throw new ServiceError(409, 'builder_run_not_waiting_for_approve', `The builder run ${state}.`);
}

/** Refuses a review of an outdated builder run, and reports what has changed. */
function checkGuard(run: BuilderRunRow, { builder_run_id: id, expected_started_at: startedAt }: ReviewGuard): void {
  const details: ErrorDetail[] = [];
  if (id !== undefined && id.toLowerCase() !== run.id) {
    details.push({ path: 'builder_run_id', message: `is now ${run.id}, which was started for another request at ${run.created_at}` });
  } else if (startedAt !== undefined && instant(startedAt) !== instant(run.started_at)) {
    details.push({ path: 'expected_started_at', message: `is now ${run.started_at ?? 'null'}: the builder run has started over` });
  }
  if (details.length === 0) return;
  const reason = details[0]?.path === 'builder_run_id' ? 'another builder run has taken its place' : 'it was answered and has started over';
  throw new ServiceError(409, 'builder_run_changed', `The builder run is not the one that was reviewed: ${reason}.`, { details });
}

const instant = (text: string | null): number | null => (text === null ? null : Date.parse(text));

async function end(
  trx: Queries,
  run: BuilderRunRow,
  { now, ...changes }: { status: 'completed' | 'cancelled'; resolution: 'accepted' | 'declined' | 'discarded'; now: string },
): Promise<BuilderRunRow> {
  return requireRow(
    await changeBuilderRun(trx, run.id, [run.status], { ...changes, phase: null, questions: null, completed_at: now, updated_at: now }),
  );
}

/** A row that was read in the same transaction cannot have changed in the meantime. */
function requireRow(row: BuilderRunRow | undefined): BuilderRunRow {
  if (row === undefined) throw new Error('the builder run has changed within the transaction');
  return row;
}
