/**
 * Removes the sandboxes of runs that have ended. They are kept for ever unless a retention time is set; then a job removes those
 * whose runs all ended longer ago than that. The messages and records of the runs are kept.
 */

import { removingSandboxes } from '../../sandbox/aside.ts';
import type { JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { nudgeJob, releaseJob, revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { endedSandboxes, firstEnd, removeEndedSandbox } from '../../store/runs/sandboxes.ts';
import type { HasBackups, HasClock, HasFiles, HasLog, HasRetention, HasSandboxes, HasStore, HasWorkspaces } from '../engine.ts';
import { discardFiles } from '../files/stored-files.ts';
import { defineJob } from '../jobs/job.ts';

/** Number of sandboxes looked up at a time. */
const batchSize = 100;
/** Milliseconds between two runs of the job: at least, for very short retention times, and at most, because the clock might be set meanwhile. */
const minInterval = 60_000;
const maxInterval = 24 * 60 * 60 * 1_000;

/** Makes the job due at every start, because the retention time might have been changed; ends it if sandboxes are kept for ever. */
async function planRetention({ store, clock, sandboxRetention }: HasStore & HasClock & HasRetention): Promise<void> {
  const job = { kind: jobKinds.expireRunSandboxes, subjectId: 'all' };
  if (sandboxRetention === undefined) await revokeJob(store, job.kind, job.subjectId);
  else await nudgeJob(store, { ...job, dueAt: clock.now() });
}

/** Removes the sandboxes of runs that ended long enough ago. Due again when the next of them expires. */
export const expireRunSandboxesJob = defineJob({
  kind: jobKinds.expireRunSandboxes,
  concurrency: 1,
  run: expireRunSandboxes,
  atStart: planRetention,
});

async function expireRunSandboxes(
  engine: HasStore & HasClock & HasLog & HasSandboxes & HasWorkspaces & HasFiles & HasRetention & HasBackups,
  job: JobRow,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, sandboxRetention, sandboxes, workspaces } = engine;
  if (sandboxRetention === undefined) return void (await releaseJob(store, job, { status: 'done' }));
  const before = isoTime(Math.max(0, clock.now() - sandboxRetention));
  for (
    let ids = await endedSandboxes(store, before, batchSize);
    ids.length > 0 && !signal.aborted;
    ids = await endedSandboxes(store, before, batchSize)
  ) {
    for (const id of ids)
      await engine.backups.removals.run(signal, async () => {
        const fileKeys = await removingSandboxes(sandboxes, (attempt) =>
          store.transaction().execute((trx) =>
            attempt(async ({ putAside }) => {
              // A run that is being continued at this moment waits for the transaction, and then creates its sandbox again.
              if (!(await removeEndedSandbox(trx, id, before, isoTime(clock.now())))) return [];
              await putAside(id);
              return workspaces.forget(trx, [id]);
            }),
          ),
        );
        await discardFiles(engine, fileKeys);
      });
  }
  const first = await firstEnd(store);
  // A run that ends from now on is kept for the whole retention time.
  const now = clock.now();
  const interval = (first === undefined ? now : Date.parse(first)) + sandboxRetention - now;
  const dueAt = now + Math.min(maxInterval, Math.max(minInterval, interval));
  await releaseJob(store, job, { status: 'queued', dueAt });
}
