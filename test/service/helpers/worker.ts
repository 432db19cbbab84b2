/** A worker with a database of its own and a clock that stands still. */
import type { Job } from '../../../src/service/engine/jobs/job.ts';
import { Worker } from '../../../src/service/engine/jobs/worker.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { enqueueJob } from '../../../src/service/store/jobs/jobs.ts';
import { putEmptyDatabase } from '../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from './clock.ts';

export type Run = Job<undefined>['run'];

/**
 * The worker is closed after the test, within a second even if its handlers do not end.
 * @param lease milliseconds for which it holds a job
 */
export async function workshop({ lease = 15_000 } = {}) {
  const folder = await temporaryDirectory();
  await putEmptyDatabase(folder);
  const store = await openDatabase(folder);
  const clock = new ManualClock();
  const logEntries: string[] = [];
  const worker = new Worker({ store, clock, owner: 'me', lease, log: (_, message) => logEntries.push(message) });
  afterTest(async () => {
    await worker.close(1_000);
    await store.destroy();
  });
  return {
    store,
    clock,
    worker,
    logEntries,
    job: (subjectId: string) => enqueueJob(store, { kind: 'k', subjectId, dueAt: clock.now() }),
  };
}

/** Resolves when something in this process has happened. */
export const until = async (hasHappened: () => boolean) => {
  while (!hasHappened()) await new Promise((resolve) => setImmediate(resolve));
};

/** Lets the loop of the worker go to sleep before the clock moves. */
export const settle = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};
