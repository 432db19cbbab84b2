/**
 * Evaluates runs: when a run has ended, it is judged by the rubrics that exist at that time. If the run continues, its
 * evaluation is withdrawn, and the run is judged again when it next ends.
 */
import { type Evaluation, evaluate } from '../../evaluation/evaluate.ts';
import { type Facts, readFacts, readPlatformFacts } from '../../evaluation/facts.ts';
import { beginEvaluation, putEvaluation, reopenEvaluation, saveEvaluation } from '../../store/agents/evaluations.ts';
import { listRubrics } from '../../store/agents/rubrics.ts';
import type { Queries } from '../../store/database/database.ts';
import { lockRows } from '../../store/database/row-locks.ts';
import type { JobRow, RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob, holdsJob, releaseJob, revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { runById } from '../../store/runs/runs.ts';
import type { HasClock, HasStore, HasWorkspaces } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';

/**
 * Evaluates a run in the transaction in which it ends. If it has rubrics of its own, which can be about files, a job evaluates it
 * afterwards. Wake the worker after the commit.
 */
export async function planEvaluation(engine: HasClock, trx: Queries, run: RunRow): Promise<void> {
  const now = engine.clock.now();
  const { hasRubrics, facts } = await readPlatformFacts(trx, run);
  if (!hasRubrics) return putEvaluation(trx, { run_id: run.id, ...(await judgedByPlatform(facts)), updated_at: isoTime(now) });
  await beginEvaluation(trx, run.id, isoTime(now));
  await enqueueJob(trx, { kind: jobKinds.evaluate, subjectId: run.id, dueAt: now });
}

/** The evaluation of a run that completed without tool calls and requests, as most do. It is always the same. */
let uneventful: Promise<ReturnType<typeof columnsOf>> | undefined;

async function judgedByPlatform(facts: Facts): Promise<ReturnType<typeof columnsOf>> {
  if (facts.status !== 'completed' || facts.calls.length > 0 || facts.requests.length > 0) return columnsOf(await evaluate([], facts));
  uneventful ??= evaluate([], facts).then(columnsOf);
  return uneventful;
}

const columnsOf = ({ status, passed, total, counts, comment, results }: Evaluation) => ({
  ...{ status, passed, total, ...counts, issues: total - passed, comment },
  results: JSON.stringify(results),
});

/** Withdraws the evaluation of a run, in the transaction in which the run continues. */
export async function withdrawEvaluation(engine: HasClock, trx: Queries, run: RunRow): Promise<void> {
  await reopenEvaluation(trx, run.id, isoTime(engine.clock.now()));
  await revokeJob(trx, jobKinds.evaluate, run.id);
}

/** Evaluates a run that has ended. */
export const evaluateJob = defineJob({ kind: jobKinds.evaluate, concurrency: 2, run: evaluateRun });

async function evaluateRun(engine: HasStore & HasClock & HasWorkspaces, job: JobRow): Promise<void> {
  const { store, workspaces, clock } = engine;
  const run = await runById(store, job.subject_id);
  if (run === undefined) return void (await releaseJob(store, job, { status: 'done' }));
  const scopes = ['', run.build_id].map((buildId) => listRubrics(store, { agentId: run.agent_id, buildId }));
  const rubrics = (await Promise.all(scopes)).flat();
  const evaluation = await evaluate(rubrics, await readFacts(store, run, () => workspaces.files(run.sandbox_id)));
  await store.transaction().execute(async (trx) => {
    await lockRows(trx, 'runs', [run.id]);
    // The job was revoked if the run has continued in the meantime.
    if (!(await holdsJob(trx, job))) return;
    await saveEvaluation(trx, run.id, { ...columnsOf(evaluation), updated_at: isoTime(clock.now()) });
    await releaseJob(trx, job, { status: 'done' });
  });
}
