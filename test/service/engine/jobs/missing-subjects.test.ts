/** A job can outlive what it is about, such as a run that was removed while the job was due. It ends, and changes and reports nothing. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StartableEngine } from '../../../../src/service/engine/create-engine.ts';
import { engineJobs } from '../../../../src/service/engine/engine-jobs.ts';
import { jobKinds } from '../../../../src/service/store/jobs/kinds.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { claimedJob, closeEngine, idleEngine } from '../../helpers/engine.ts';
import { allRows } from '../../helpers/rows.ts';

const clock = new ManualClock();
const reports: string[] = [];
let engine: StartableEngine;
beforeAll(async () => {
  engine = await idleEngine(clock, { dataDirectory: await temporaryDirectory(), runtimes: [] }, (level, message) => {
    if (level === 'warn' || level === 'error') reports.push(message);
  });
});
afterAll(() => closeEngine(engine));

/** They work on everything that has expired. */
const general: readonly string[] = [jobKinds.expireRunSandboxes, jobKinds.forgetDeliveries, jobKinds.forgetRuns];

it.each(engineJobs.filter(({ kind }) => !general.includes(kind)).map((job) => [job.kind, job] as const))('%s', async (kind, job) => {
  const { jobs: _, ...before } = await allRows(engine.store);
  const claimed = await claimedJob(engine, kind, randomUUID());
  await job.run(engine, claimed, new AbortController().signal);
  const { status } = await engine.store.selectFrom('jobs').select('status').where('id', '=', claimed.id).executeTakeFirstOrThrow();
  expect(['done', 'parked']).toContain(status);
  const { jobs: __, ...after } = await allRows(engine.store);
  expect(after).toEqual(before);
  expect(reports).toEqual([]);
});
