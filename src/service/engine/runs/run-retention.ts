/**
 * How long runs are kept after their end. Then a job removes them with their messages, files and sandboxes, a few at a time, so
 * that nobody waits long for it. A run that has not ended is never removed, however old it is.
 */
import { setImmediate } from 'node:timers/promises';
import { forgetExpiredTokens } from '../../store/access/credentials.ts';
import type { JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { endedRuns, firstRunEnd, removeRuns } from '../../store/runs/run-removal.ts';
import type { HasBackups, HasClock, HasFiles, HasLog, HasRetention, HasSandboxes, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';

/** Runs removed in one transaction. */
const portion = 25;
/** Also without runs to remove there are tokens that have expired. */
const interval = 60 * 60 * 1_000;

/** Makes the job due at every start, because the retention time might have been changed. */
async function planRunRetention({ store, clock }: HasStore & HasClock): Promise<void> {
  await nudgeJob(store, { kind: jobKinds.forgetRuns, subjectId: 'all', dueAt: clock.now() });
}

/** Removes runs whose retention time has passed: every hour, and when the next of them expires. */
export const forgetRunsJob = defineJob({ kind: jobKinds.forgetRuns, concurrency: 1, run: forgetRuns, atStart: planRunRetention });

async function forgetRuns(
  engine: HasStore & HasClock & HasLog & HasSandboxes & HasFiles & HasRetention & HasBackups,
  job: JobRow,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, runRetention: kept } = engine;
  // One moment for all of it: what falls due while this goes on is not late, it is due at once.
  const now = clock.now();
  await forgetExpiredTokens(store, now);
  // What a crash left on the disk.
  await engine.sandboxes.sweep();
  await engine.files.sweep();
  let dueAt = now + interval;
  if (kept !== undefined) {
    const removed = await removeEnded(engine, isoTime(Math.max(0, now - kept)), signal);
    if (removed > 0) engine.log('info', 'runs removed', { runs: removed });
    const first = await firstRunEnd(store);
    // One that is late is tied to a case; it is looked at again with the others.
    if (first !== undefined && Date.parse(first) + kept > now) dueAt = Math.min(dueAt, Date.parse(first) + kept);
  }
  await releaseJob(store, job, { status: 'queued', dueAt });
}

async function removeEnded(engine: HasStore & HasSandboxes & HasFiles & HasBackups, before: string, signal: AbortSignal): Promise<number> {
  const { store, sandboxes, files } = engine;
  let removed = 0;
  for (let ids = await endedRuns(store, before, portion); ids.length > 0; ids = await endedRuns(store, before, portion)) {
    if (signal.aborted) break;
    await engine.backups.removals.pass(signal, async () => {
      const putAside: (() => Promise<void>)[] = [];
      await store.transaction().execute(async (trx) => {
        // A run that goes on at this moment waits for the transaction, and then there is none.
        const { runs, sandboxIds } = await removeRuns(trx, ids, { before, jobKinds: [jobKinds.run, jobKinds.evaluate] });
        for (const id of sandboxIds) putAside.push(await sandboxes.putAside(id));
        for (const run of runs) putAside.push(await files.putAside(run.id));
        removed += runs.length;
      });
      for (const remove of putAside) await remove();
    });
    // Requests come first.
    await setImmediate();
  }
  return removed;
}
