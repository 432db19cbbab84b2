/** An engine whose worker does not run unless a test starts it, so that a test can execute jobs itself. */
import { createEngine, type EngineOptions, type StartableEngine } from '../../../src/service/engine/create-engine.ts';
import type { Job } from '../../../src/service/engine/jobs/job.ts';
import type { Log } from '../../../src/service/log.ts';
import { openStorage } from '../../../src/service/store/data-directory.ts';
import { type ClaimedJob, enqueueJob, takeJob } from '../../../src/service/store/jobs/jobs.ts';
import { openSharedStorage } from '../../../src/service/store/shared-storage.ts';
import { databaseOptions } from '../../support/postgres.ts';
import type { ManualClock } from './clock.ts';

/** Opens a data directory that no service uses. Close the engine with `closeEngine`. */
export async function idleEngine(
  clock: ManualClock,
  options: Omit<EngineOptions, 'exec'>,
  log: Log = () => undefined,
): Promise<StartableEngine> {
  const { dataDirectory } = options;
  const { database } = await databaseOptions(dataDirectory);
  const { store, copies } =
    database === undefined
      ? await openStorage(dataDirectory, { clock, bounds: undefined, onDamage: () => undefined })
      : await openSharedStorage({ ...database, instanceId: 'this', clock, bounds: undefined });
  return createEngine({ exec: 'off', ...options }, { store, copies, clock, log, instanceId: 'this' });
}

export async function closeEngine(engine: StartableEngine): Promise<void> {
  engine.backups.close();
  await engine.worker.close(1_000);
  await engine.webhooks.sender.close();
  await engine.push.sender.close();
  await engine.connections.agent.close();
  await engine.store.destroy();
}

/** A job that is due, claimed by this process. */
export async function claimedJob({ store, clock }: StartableEngine, kind: string, subjectId: string): Promise<ClaimedJob> {
  await enqueueJob(store, { kind, subjectId, dueAt: 0 });
  const job = await store
    .selectFrom('jobs')
    .selectAll()
    .where('kind', '=', kind)
    .where('subject_id', '=', subjectId)
    .executeTakeFirstOrThrow();
  return (await takeJob(store, job, { owner: 'this', now: clock.now(), lease: 60_000 })) as ClaimedJob;
}

/** Makes a job due, and executes it. */
export async function execute<Parts>(engine: StartableEngine & Parts, job: Job<Parts>, subjectId: string): Promise<void> {
  await job.run(engine, await claimedJob(engine, job.kind, subjectId), new AbortController().signal);
}
