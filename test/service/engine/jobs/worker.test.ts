import { describe, expect, it } from 'vitest';
import type { Job } from '../../../../src/service/engine/jobs/job.ts';
import { JobAborted } from '../../../../src/service/engine/jobs/worker.ts';
import { claimJob, enqueueJob, releaseJob, revokeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { afterTest } from '../../../support/temporary.ts';
import { heldDisk, serviceCommits } from '../../helpers/disk.ts';
import { Gate } from '../../helpers/runtime.ts';
import { type Run, settle, until, workshop } from '../../helpers/worker.ts';

it('retries a job after a while if its handler throws', async () => {
  const { store, clock, worker, job } = await workshop();
  const attempts: number[] = [];
  const [failGate, endGate] = [new Gate(), new Gate()];
  const run: Run = async (_, job) => {
    attempts.push(clock.now());
    if (attempts.length === 1) {
      failGate.open();
      throw new Error('not now');
    }
    await releaseJob(store, job, { status: 'done' });
    endGate.open();
  };
  await job('s');
  worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
  await failGate.opened;
  await settle();
  expect(attempts).toHaveLength(1);
  clock.advance(1_000);
  await endGate.opened;
  expect((attempts[1] as number) - (attempts[0] as number)).toBe(1_000);
});

it('waits longer after each failure of a job, up to ten minutes', async () => {
  const { store, clock, worker, job } = await workshop();
  await job('s');
  worker.start([{ kind: 'k', concurrency: 1, run: () => Promise.reject(new Error('not now')) }], undefined);
  const untilFailed = async (attempts: number) => {
    for (;;) {
      const row = await store.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
      if (row.attempts === attempts && row.status === 'queued') return Number(row.due_at);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const delays: number[] = [];
  for (let attempts = 1; attempts <= 6; attempts++) {
    const dueAt = await untilFailed(attempts);
    delays.push(dueAt - clock.now());
    clock.set(dueAt);
    worker.wake();
  }
  expect(delays).toEqual([1_000, 5_000, 30_000, 120_000, 600_000, 600_000]);
});

it('starts a resumed job only when its stopped handler has ended, and can then stop it again', async () => {
  const { store, worker, job } = await workshop();
  const order: string[] = [];
  const signals: AbortSignal[] = [];
  const [startGate, finish, resumeGate] = [new Gate(), new Gate(), new Gate()];
  const run: Run = async (_, __, signal) => {
    order.push('begins');
    signals.push(signal);
    (signals.length === 1 ? startGate : resumeGate).open();
    await (signals.length === 1 ? finish.opened : new Promise((resolve) => signal.addEventListener('abort', resolve)));
    order.push('ends');
  };
  await job('s');
  worker.start([{ kind: 'k', concurrency: 2, run }], undefined);
  await startGate.opened;
  worker.abort('k', 's', 'stopped');
  await job('s');
  worker.wake();
  while ((await store.selectFrom('jobs').select('status').executeTakeFirstOrThrow()).status !== 'running') await settle();
  await settle();
  expect(order).toEqual(['begins']);
  finish.open();
  await resumeGate.opened;
  expect(order).toEqual(['begins', 'ends', 'begins']);
  worker.abort('k', 's', 'stopped');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

it('leaves a job whose handler fails because of an abort unchanged, and does not report it', async () => {
  const { store, worker, logEntries, job } = await workshop();
  const startGate = new Gate();
  const run: Run = async (_, __, signal) => {
    startGate.open();
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const row = () => store.selectFrom('jobs').selectAll().executeTakeFirstOrThrow();
  await job('s');
  worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
  await startGate.opened;
  const claimedRow = await row();
  await worker.close(10_000);
  expect([await row(), logEntries]).toEqual([claimedRow, []]);
});

it('aborts a job that was being claimed when the worker was closed, and waits for its end', async () => {
  const { worker, job } = await workshop();
  let closing: Promise<void> | undefined;
  const order: unknown[] = [];
  const claiming = new Gate();
  const claim: Job<undefined>['claim'] = async (_, ...args) => {
    closing = worker.close(10_000).then(() => void order.push('closed'));
    claiming.open();
    return claimJob(...args);
  };
  const run: Run = async (_, __, signal) => {
    order.push(signal.reason);
    await settle();
    order.push('ended');
  };
  await job('s');
  worker.start([{ kind: 'k', concurrency: 1, run, claim }], undefined);
  await claiming.opened;
  await closing;
  expect(order).toEqual([expect.objectContaining({ reason: 'shutdown' }), 'ended', 'closed']);
});

it('claims everything that is due with one commit, and nothing when that fails', async () => {
  const commits = serviceCommits();
  const { store, clock, worker, job } = await workshop();
  const starts: string[] = [];
  const allGate = new Gate();
  const run: Run = async (_, { subject_id }) => {
    starts.push(subject_id);
    if (starts.length === 4) allGate.open();
    await allGate.opened;
  };
  for (let index = 0; index < 3; index++) await job(`s${index}`);
  await enqueueJob(store, { kind: 'other', subjectId: 's3', dueAt: clock.now() });
  commits.failure = new Error('no space left');
  worker.start(
    [
      { kind: 'k', concurrency: 5, run },
      { kind: 'other', concurrency: 5, run },
    ],
    undefined,
  );
  await settle();
  expect(starts).toEqual([]);
  commits.failure = undefined;
  const before = commits.count;
  clock.advance(1_000);
  await until(() => starts.length > 0);
  expect([commits.count - before, [...starts].sort()]).toEqual([1, ['s0', 's1', 's2', 's3']]);
});

it('runs no more jobs of a kind at the same time than its concurrency allows', async () => {
  const { store, worker, job } = await workshop();
  let [busyCount, maxBusy, endedCount] = [0, 0, 0];
  const [bothGate, allGate] = [new Gate(), new Gate()];
  const run: Run = async (_, job) => {
    maxBusy = Math.max(maxBusy, ++busyCount);
    if (busyCount === 2) bothGate.open();
    await bothGate.opened;
    await settle();
    busyCount -= 1;
    await releaseJob(store, job, { status: 'done' });
    if (++endedCount === 6) allGate.open();
  };
  for (let index = 0; index < 6; index++) await job(`s${index}`);
  worker.start([{ kind: 'k', concurrency: 2, run }], undefined);
  await allGate.opened;
  expect(maxBusy).toBe(2);
});

it('polls again when a revoked job has ended', async () => {
  const { store, worker, job } = await workshop();
  const [startGate, finish, second] = [new Gate(), new Gate(), new Gate()];
  const run: Run = async (_, job) => {
    if (job.subject_id === 'second') {
      await releaseJob(store, job, { status: 'done' });
      second.open();
      return;
    }
    startGate.open();
    await finish.opened;
  };
  await job('first');
  worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
  await startGate.opened;
  await job('second');
  await revokeJob(store, 'k', 'first');
  worker.wake();
  await settle();
  // Nothing changes in the database any more, but there is free capacity now.
  finish.open();
  await second.opened;
});

it('extends the lease of a running job, even after the process was frozen past its end', async () => {
  const { store, clock, worker, job } = await workshop();
  const [startGate, finish, endGate] = [new Gate(), new Gate(), new Gate()];
  let runs = 0;
  const run: Run = async (_, job) => {
    runs += 1;
    startGate.open();
    await finish.opened;
    expect(await releaseJob(store, job, { status: 'done' })).toBe(true);
    endGate.open();
  };
  await job('s');
  worker.start([{ kind: 'k', concurrency: 2, run }], undefined);
  await startGate.opened;
  for (const ms of [5_000, 5_000, 5_000, 5_000, 60_000]) {
    await settle();
    clock.advance(ms);
  }
  await settle();
  finish.open();
  await endGate.opened;
  expect(runs).toBe(1);
});

describe('does not claim its own running jobs again when the process is frozen past the end of their leases', () => {
  /** A worker that runs a job and has gone to sleep. When it wakes up, it extends the lease and polls for work. */
  async function expectAtRest(extraJobs: (shop: Awaited<ReturnType<typeof workshop>>) => Promise<Job<undefined>[]> = async () => []) {
    const shop = await workshop();
    const { store, clock, worker, job } = shop;
    const [startGate, finish, endGate] = [new Gate(), new Gate(), new Gate()];
    let startCount = 0;
    const releaseResults: boolean[] = [];
    const otherJobs = await extraJobs(shop);
    const run: Run = async (_, job) => {
      startCount += 1;
      startGate.open();
      await finish.opened;
      releaseResults.push(await releaseJob(store, job, { status: 'done' }));
      endGate.open();
    };
    await job('s');
    worker.start([...otherJobs, { kind: 'k', concurrency: 2, run }], undefined);
    await startGate.opened;
    await until(() => clock.sleeps === 1);
    /** What became of the job, once the worker has caught up. */
    const outcome = async () => {
      worker.wake();
      await until(() => clock.sleeps === 3);
      finish.open();
      await endGate.opened;
      return { startCount, released: releaseResults };
    };
    return { clock, outcome };
  }

  it('while the lease is being written to disk', async () => {
    const { clock, outcome } = await expectAtRest();
    const disk = new Gate();
    const sync = await heldDisk(disk);
    clock.advance(5_000);
    await until(() => sync.mock.calls.length > 0);
    clock.advance(60_000);
    disk.open();
    await until(() => clock.sleeps === 2);
    expect(await outcome()).toEqual({ startCount: 1, released: [true] });
  });

  it('while it polls for jobs of another kind', async () => {
    const { clock, outcome } = await expectAtRest(async ({ store, clock }) => {
      await enqueueJob(store, { kind: 'other', subjectId: 's', dueAt: clock.now() + 5_000 });
      const claim = async () => {
        clock.advance(60_000);
        return undefined;
      };
      return [{ kind: 'other', concurrency: 1, run: async () => undefined, claim }];
    });
    clock.advance(5_000);
    await until(() => clock.sleeps === 2);
    expect(await outcome()).toEqual({ startCount: 1, released: [true] });
  });
});

it('aborts a handler whose job another worker has taken', async () => {
  const { store, clock, worker, job } = await workshop();
  const [startGate, abortGate] = [new Gate(), new Gate()];
  let reason: unknown;
  const run: Run = async (_parts, _claimed, signal) => {
    startGate.open();
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    reason = signal.reason;
    abortGate.open();
  };
  await job('s');
  worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
  await startGate.opened;
  // Another worker, to which the lease of this one appears to have ended.
  await claimJob(store, 'k', { owner: 'other', now: clock.now() + 20_000, lease: 60_000 });
  await settle();
  clock.advance(6_000);
  await abortGate.opened;
  expect(reason).toBeInstanceOf(JobAborted);
  expect(reason).toMatchObject({ reason: 'lost' });
});

it('reports whether due jobs are waiting for a running one to end', async () => {
  const { store, clock, worker, job } = await workshop();
  const [startGate, finish] = [new Gate(), new Gate()];
  const run: Run = async (_, job) => {
    startGate.open();
    await finish.opened;
    await releaseJob(store, job, { status: 'done' });
  };
  afterTest(async () => finish.open());
  worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
  expect(await worker.isWaitedFor('k')).toBe(false);
  await job('first');
  worker.wake();
  await startGate.opened;
  expect(await worker.isWaitedFor('k')).toBe(false);
  await enqueueJob(store, { kind: 'k', subjectId: 'later', dueAt: clock.now() + 1_000 });
  expect(await worker.isWaitedFor('k')).toBe(false);
  await job('second');
  expect(await worker.isWaitedFor('k')).toBe(true);
});
