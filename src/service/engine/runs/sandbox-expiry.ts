/** Sandboxes that were created to stage files, and that are removed if no run uses them in time. */
import { newId } from '../../ids.ts';
import type { JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import { expireSandbox, expiryOf, insertSandbox } from '../../store/runs/sandboxes.ts';
import type { HasBackups, HasClock, HasFiles, HasLog, HasSandboxes, HasStore, HasWorker, HasWorkspaces } from '../engine.ts';
import { discardFiles } from '../files/stored-files.ts';
import { defineJob } from '../jobs/job.ts';

/** How many milliseconds a sandbox waits for a run: 24 hours. */
const stagingTime = 24 * 60 * 60 * 1_000;

/** Creates an empty sandbox that a run can be started with. */
export async function stageSandbox(engine: HasStore & HasClock & HasWorker, teamId: string): Promise<{ id: string; expiresAt: string }> {
  const id = newId();
  const now = engine.clock.now();
  const expiresAt = isoTime(now + stagingTime);
  await engine.store.transaction().execute(async (trx) => {
    await insertSandbox(trx, { id, team_id: teamId, created_at: isoTime(now), expires_at: expiresAt, removed_at: null });
    await enqueueJob(trx, { kind: jobKinds.expireSandbox, subjectId: id, dueAt: now + stagingTime });
  });
  engine.worker.wake();
  return { id, expiresAt };
}

/** Removes a staged sandbox that no run has taken. */
export const expireSandboxJob = defineJob({ kind: jobKinds.expireSandbox, concurrency: 1, run: expireStagedSandbox });

async function expireStagedSandbox(
  engine: HasStore & HasClock & HasLog & HasSandboxes & HasWorkspaces & HasFiles & HasBackups,
  job: JobRow,
  signal: AbortSignal,
): Promise<void> {
  await engine.backups.removals.run(signal, async () => {
    const fileKeys = await engine.store.transaction().execute(async (trx) => {
      const isMarked = await expireSandbox(trx, job.subject_id, isoTime(engine.clock.now()));
      return isMarked ? engine.workspaces.forget(trx, [job.subject_id]) : undefined;
    });
    if (fileKeys === undefined) return;
    await engine.sandboxes.remove(job.subject_id);
    await discardFiles(engine, fileKeys);
  });
  const laterExpiry = await expiryOf(engine.store, job.subject_id);
  // If the clock was set back a moment ago, the job was claimed too early.
  await releaseJob(engine.store, job, laterExpiry === undefined ? { status: 'done' } : { status: 'queued', dueAt: laterExpiry });
}
