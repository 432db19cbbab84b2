/** How interruptions of a run are counted: in a row, at the same progress of the run. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { countInterruptions } from '../../../../src/service/engine/runs/interruptions.ts';
import type { RunRow } from '../../../../src/service/store/database/schema.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { type ClaimedJob, claimJob, enqueueJob, reclaimJobs } from '../../../../src/service/store/jobs/jobs.ts';
import { recordStep } from '../../../../src/service/store/runs/journal.ts';
import { putEmptyDatabase } from '../../../support/empty-database.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

async function interruptedRun() {
  const directory = await temporaryDirectory();
  await putEmptyDatabase(directory);
  const db = await openDatabase(directory);
  afterTest(() => db.destroy());
  // The run itself is left out.
  await sql`pragma foreign_keys = off`.execute(db);
  await enqueueJob(db, { kind: 'run', subjectId: 'r', dueAt: 0 });
  let processes = 0;
  /** Claims the job in another process, after the previous one has ended. */
  const claim = async (): Promise<ClaimedJob> => {
    await reclaimJobs(db, 0);
    processes += 1;
    return (await claimJob(db, 'run', { owner: `process ${processes}`, now: 0, lease: 1_000 })) as ClaimedJob;
  };
  return {
    claim,
    count: async (turn: number) => countInterruptions(db, await claim(), { id: 'r', turn } as RunRow),
    complete: (turn: number, step: string) => recordStep(db, { runId: 'r', turn, step }, null, ''),
    countClaimed: (job: ClaimedJob) => countInterruptions(db, job, { id: 'r', turn: 1 } as RunRow),
  };
}

it('starts over after each completed step, and in each turn', async () => {
  const { claim, count, complete } = await interruptedRun();
  await claim();
  expect([await count(1), await count(1), await count(1)]).toEqual([1, 2, 3]);
  await complete(1, 'first');
  expect([await count(1), await count(1)]).toEqual([1, 2]);
  // The second turn has as many steps as the first one.
  await complete(2, 'first');
  expect([await count(2), await count(2)]).toEqual([1, 2]);
});

it('counts nothing if the job was released properly', async () => {
  const { claim, countClaimed } = await interruptedRun();
  expect(await countClaimed(await claim())).toBe(0);
  const job = await claim();
  expect(job).toMatchObject({ wasInterrupted: true, payload: null });
  expect(await countClaimed({ ...job, wasInterrupted: false })).toBe(0);
  expect(await countClaimed(job)).toBe(1);
});
