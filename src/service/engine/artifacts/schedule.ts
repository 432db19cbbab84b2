/** Automatic refreshes: a job for each artifact that has a frequency, due at the next refresh. Missed refreshes are made up for once. */
import type { RefreshFrequency } from '../../../interface/types.ts';
import { teamExists } from '../../store/access/teams.ts';
import { artifactById, changeArtifact, isGenerating } from '../../store/artifacts/artifacts.ts';
import type { Queries } from '../../store/database/database.ts';
import type { JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob, holdsJob, releaseJob, revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';
import { start } from './generation.ts';

const minute = 60_000;
const hour = 60 * minute;

/** Milliseconds from one refresh to the next. */
const intervals: Readonly<Record<RefreshFrequency, number>> = {
  every_15_minutes: 15 * minute,
  every_30_minutes: 30 * minute,
  hourly: hour,
  every_6_hours: 6 * hour,
  daily: 24 * hour,
  weekly: 7 * 24 * hour,
};

/** Plans refreshes with a new frequency, and returns when the next one is due. Call it in a transaction. */
export async function planRefresh(
  trx: Queries,
  artifactId: string,
  frequency: RefreshFrequency | null,
  now: number,
): Promise<string | null> {
  if (frequency === null) {
    await revokeJob(trx, jobKinds.refreshArtifact, artifactId);
    return null;
  }
  const dueAt = now + intervals[frequency];
  await enqueueJob(trx, { kind: jobKinds.refreshArtifact, subjectId: artifactId, dueAt });
  return isoTime(dueAt);
}

/** Refreshes an artifact. One that has no page yet, or is being generated already, waits for the next time. */
export const refreshArtifactJob = defineJob({ kind: jobKinds.refreshArtifact, concurrency: 1, run: refreshDue });

async function refreshDue(engine: HasStore & HasClock & HasWorker, job: JobRow): Promise<void> {
  const hasStarted = await engine.store.transaction().execute(async (trx) => {
    const artifact = await artifactById(trx, job.subject_id);
    if (!(await holdsJob(trx, job))) return false;
    const isOwned = artifact !== undefined && (await teamExists(trx, artifact.team_id));
    if (artifact === undefined || !isOwned || artifact.refresh_frequency === null) {
      await releaseJob(trx, job, { status: 'done' });
      return false;
    }
    const now = engine.clock.now();
    const interval = intervals[artifact.refresh_frequency];
    const due = Date.parse(artifact.next_refresh_at ?? isoTime(now));
    // Kept in step with the first one, however late this refresh is.
    const next = due + interval * (Math.floor((now - due) / interval) + 1);
    await releaseJob(trx, job, { status: 'queued', dueAt: next });
    const plannedRow = await changeArtifact(trx, artifact.id, { next_refresh_at: isoTime(next) });
    if (plannedRow === undefined || plannedRow.current_revision_id === null || isGenerating(plannedRow)) return false;
    await start(engine, trx, plannedRow, { kind: 'refresh' });
    return true;
  });
  if (hasStarted) engine.worker.wake();
}
