/**
 * Evaluates runs: when a run has ended, a job judges it by the rubrics that exist at that time. If the run continues, its
 * evaluation is withdrawn, and the run is judged again when it next ends.
 */
import { evaluate } from '../../evaluation/evaluate.ts';
import { readFacts } from '../../evaluation/facts.ts';
import { beginEvaluation, reopenEvaluation, saveEvaluation } from '../../store/agents/evaluations.ts';
import { listRubrics } from '../../store/agents/rubrics.ts';
import type { Queries } from '../../store/database/database.ts';
import type { JobRow, RunRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob, holdsJob, releaseJob, revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { runById } from '../../store/runs/runs.ts';
import type { HasClock, HasSandboxes, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';

/** Queues the evaluation of a run, in the transaction in which the run ends. Wake the worker after the commit. */
export async function planEvaluation(engine: HasClock, trx: Queries, run: RunRow): Promise<void> {
  const now = engine.clock.now();
  await beginEvaluation(trx, run.id, isoTime(now));
  await enqueueJob(trx, { kind: jobKinds.evaluate, subjectId: run.id, dueAt: now });
}

/** Withdraws the evaluation of a run, in the transaction in which the run continues. */
export async function withdrawEvaluation(engine: HasClock, trx: Queries, run: RunRow): Promise<void> {
  await reopenEvaluation(trx, run.id, isoTime(engine.clock.now()));
  await revokeJob(trx, jobKinds.evaluate, run.id);
}

/** Evaluates a run that has ended. */
export const evaluateJob = defineJob({ kind: jobKinds.evaluate, concurrency: 2, run: evaluateRun });

async function evaluateRun(engine: HasStore & HasClock & HasSandboxes, job: JobRow): Promise<void> {
  const { store, sandboxes, clock } = engine;
  const run = await runById(store, job.subject_id);
  if (run === undefined) return void (await releaseJob(store, job, { status: 'done' }));
  const scopes = ['', run.build_id].map((buildId) => listRubrics(store, { agentId: run.agent_id, buildId }));
  const rubrics = (await Promise.all(scopes)).flat();
  const { status, passed, total, counts, comment, results } = await evaluate(rubrics, await readFacts(store, sandboxes, run));
  await store.transaction().execute(async (trx) => {
    // The job was revoked if the run has continued in the meantime.
    if (!(await holdsJob(trx, job))) return;
    const issues = total - passed;
    const figures = {
      status,
      passed,
      total,
      ...counts,
      issues,
      comment,
      results: JSON.stringify(results),
      updated_at: isoTime(clock.now()),
    };
    await saveEvaluation(trx, run.id, figures);
    await releaseJob(trx, job, { status: 'done' });
  });
}
