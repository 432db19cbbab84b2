/**
 * Removes runs some time after their end, with their messages, files, and sandboxes: a few at a time, so that nothing else waits
 * long. A run that has not ended is never removed, however old it is.
 */
import { setImmediate } from 'node:timers/promises';
import { removingSandboxes } from '../../sandbox/aside.ts';
import { forgetExpiredTokens } from '../../store/access/credentials.ts';
import type { JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { endedRuns, firstRunEnd, removeRuns } from '../../store/runs/run-removal.ts';
import type {
  HasBackups,
  HasClock,
  HasFiles,
  HasLog,
  HasRepositories,
  HasRetention,
  HasSandboxes,
  HasStore,
  HasWorkspaces,
} from '../engine.ts';
import { discardFiles, dropFiles, sweepFiles } from '../files/stored-files.ts';
import { defineJob } from '../jobs/job.ts';

/** Number of runs removed in one transaction. */
const batchSize = 25;
/** Milliseconds between two runs of the job; even if there are no runs to remove, tokens expire. */
const interval = 60 * 60 * 1_000;

/** Makes the job due at every start, because the retention time might have been changed. */
async function planRunRetention({ store, clock }: HasStore & HasClock): Promise<void> {
  await nudgeJob(store, { kind: jobKinds.forgetRuns, subjectId: 'all', dueAt: clock.now() });
}

/** Removes runs whose retention time has passed: every hour, and when the next of them expires. */
export const forgetRunsJob = defineJob({ kind: jobKinds.forgetRuns, concurrency: 1, run: forgetRuns, atStart: planRunRetention });

async function forgetRuns(
  engine: HasStore & HasClock & HasLog & HasSandboxes & HasWorkspaces & HasRepositories & HasFiles & HasRetention & HasBackups,
  job: JobRow,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, runRetention } = engine;
  // One timestamp for everything: a run that expires while this is in progress is not late, it is due immediately.
  const now = clock.now();
  await forgetExpiredTokens(store, now);
  // Removes files that a crash left on the disk.
  await engine.sandboxes.sweep();
  await sweepFiles(engine);
  await engine.repositories.sweep(now);
  let dueAt = now + interval;
  if (runRetention !== undefined) {
    const removedCount = await removeEnded(engine, isoTime(Math.max(0, now - runRetention)), signal);
    if (removedCount > 0) engine.log('info', 'runs removed', { runs: removedCount });
    const first = await firstRunEnd(store);
    // A run that should be gone already is still needed by a case; it is checked again with the next ones.
    if (first !== undefined && Date.parse(first) + runRetention > now) dueAt = Math.min(dueAt, Date.parse(first) + runRetention);
  }
  await releaseJob(store, job, { status: 'queued', dueAt });
}

async function removeEnded(
  engine: HasStore & HasClock & HasLog & HasSandboxes & HasWorkspaces & HasFiles & HasBackups,
  before: string,
  signal: AbortSignal,
): Promise<number> {
  const { store, clock, sandboxes, workspaces } = engine;
  let removedCount = 0;
  for (let ids = await endedRuns(store, before, batchSize); ids.length > 0; ids = await endedRuns(store, before, batchSize)) {
    if (signal.aborted) break;
    await engine.backups.removals.run(signal, async () => {
      const removed = await removingSandboxes(sandboxes, (attempt) =>
        store.transaction().execute((trx) =>
          attempt(async ({ putAside }) => {
            // A run that is being continued at this moment waits for the transaction, and then finds that it is gone.
            const { runs, fileKeys, sandboxIds } = await removeRuns(trx, ids, { before, jobKinds: [jobKinds.run, jobKinds.evaluate] });
            for (const id of sandboxIds) await putAside(id);
            await dropFiles(trx, fileKeys, clock.now());
            return { count: runs.length, fileKeys: [...fileKeys, ...(await workspaces.forget(trx, sandboxIds))] };
          }),
        ),
      );
      removedCount += removed.count;
      await discardFiles(engine, removed.fileKeys);
    });
    // Requests take precedence.
    await setImmediate();
  }
  return removedCount;
}
