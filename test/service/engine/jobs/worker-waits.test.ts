/** How long a worker waits, with a clock that stands still: after failures, for the next job, and until it renews a lease. */
import { describe, expect, it } from 'vitest';
import type { Job } from '../../../../src/service/engine/jobs/job.ts';
import type { JobRow } from '../../../../src/service/store/database/schema.ts';
import { claimJob, enqueueJob, releaseJob, revokeJob } from '../../../../src/service/store/jobs/jobs.ts';
import { afterTest } from '../../../support/temporary.ts';
import { serviceCommits } from '../../helpers/disk.ts';
import { Gate } from '../../helpers/runtime.ts';
import { type Run, settle, until, workshop } from '../../helpers/worker.ts';

const diskFull = (): Error => Object.assign(new Error('no space left'), { code: 'ENOSPC' });
/** Long enough for everything that the worker does without waiting. */
const rest = async () => {
  for (let count = 0; count < 10; count++) await settle();
};

/** A handler that ends when the worker is closed. */
const untilAborted: Run = (_, __, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

type Workshop = Awaited<ReturnType<typeof workshop>>;

/** The row of a job, once it fulfils a condition. */
async function rowWhen({ store }: Workshop, subjectId: string, isReached: (row: JobRow) => boolean): Promise<JobRow> {
  for (;;) {
    const row = await store.selectFrom('jobs').selectAll().where('subject_id', '=', subjectId).executeTakeFirstOrThrow();
    if (isReached(row)) return row;
    await settle();
  }
}

describe('after trouble of the host', () => {
  it('a job is retried sooner than after another failure', async () => {
    const shop = await workshop();
    const { clock, worker, job } = shop;
    await job('s');
    worker.start([{ kind: 'k', concurrency: 1, run: () => Promise.reject(diskFull()) }], undefined);
    const delays: number[] = [];
    for (let attempt = 1; attempt <= 5; attempt++) {
      const { due_at } = await rowWhen(shop, 's', ({ status, attempts }) => status === 'queued' && attempts === attempt);
      delays.push(Number(due_at) - clock.now());
      clock.set(Number(due_at));
      worker.wake();
    }
    expect(delays).toEqual([1_000, 2_000, 5_000, 10_000, 10_000]);
  });

  it.each(['a job', 'polling'])('with %s, nothing is claimed for a second', async (failing) => {
    const commits = serviceCommits();
    const { clock, worker, job, logEntries } = await workshop();
    const starts: string[] = [];
    const run: Run = async (_, job, signal) => {
      starts.push(job.subject_id);
      if (starts.length === 1 && failing === 'a job') throw diskFull();
      await untilAborted(_, job, signal);
    };
    await job('first');
    if (failing === 'polling') commits.failure = diskFull();
    worker.start([{ kind: 'k', concurrency: 3, run }], undefined);
    await until(() => logEntries.length === 1);
    await rest();
    commits.failure = undefined;
    await job('second');
    worker.wake();
    await rest();
    expect(starts).not.toContain('second');
    clock.advance(999);
    worker.wake();
    await rest();
    expect(starts).not.toContain('second');
    clock.advance(1);
    await until(() => starts.includes('second'));
    expect(logEntries).toEqual([failing === 'a job' ? 'a job failed and will be retried' : 'polling for jobs failed']);
  });

  it('after another failure, other jobs are claimed immediately', async () => {
    const { worker, job, logEntries } = await workshop();
    const starts: string[] = [];
    const run: Run = async (_, job, signal) => {
      starts.push(job.subject_id);
      if (job.subject_id === 'first') throw new Error('not now');
      await untilAborted(_, job, signal);
    };
    await job('first');
    worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
    await until(() => logEntries.length === 1);
    await job('second');
    worker.wake();
    await until(() => starts.includes('second'));
  });
});

it('polling that fails is reported, and repeated after a second without a wake-up', async () => {
  const commits = serviceCommits();
  const { clock, worker, job, logEntries } = await workshop();
  const startGate = new Gate();
  await job('s');
  commits.failure = new Error('broken');
  const run: Run = async () => startGate.open();
  worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
  await until(() => logEntries.length === 1);
  await rest();
  expect(logEntries).toEqual(['polling for jobs failed']);
  commits.failure = undefined;
  clock.advance(1_000);
  await startGate.opened;
});

it('a failed job that cannot be released is reported, and taken over when its lease has ended', async () => {
  const commits = serviceCommits();
  const { clock, worker, job, logEntries } = await workshop();
  let attempts = 0;
  await job('s');
  const run: Run = async () => {
    attempts += 1;
    if (attempts > 1) return;
    commits.failure = new Error('broken');
    throw new Error('not now');
  };
  worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
  await until(() => logEntries.length >= 2);
  commits.failure = undefined;
  expect(logEntries.slice(0, 2)).toEqual(['a job failed and will be retried', 'a job could not be released']);
  await rest();
  clock.advance(15_000);
  await until(() => attempts === 2);
});

it('polling that fails while the worker is being closed is not reported', async () => {
  const { worker, job, logEntries } = await workshop();
  let closing: Promise<void> | undefined;
  const claiming = new Gate();
  const claim: Job<undefined>['claim'] = async () => {
    closing = worker.close(10_000);
    claiming.open();
    throw new Error('closed');
  };
  await job('s');
  worker.start([{ kind: 'k', concurrency: 1, run: untilAborted, claim }], undefined);
  await claiming.opened;
  await closing;
  expect(logEntries).toEqual([]);
});

describe('a worker without due work', () => {
  it('writes nothing', async () => {
    const commits = serviceCommits();
    const { clock, worker } = await workshop();
    const before = commits.count;
    worker.start([{ kind: 'k', concurrency: 1, run: untilAborted }], undefined);
    await until(() => clock.sleeps === 1);
    expect(commits.count).toBe(before);
  });

  /** A kind whose claims are counted, and of which nothing may be claimed at the moment. */
  function blocked() {
    let claims = 0;
    const claim: Job<undefined>['claim'] = async () => {
      claims += 1;
      return undefined;
    };
    return { job: { kind: 'k', concurrency: 1, run: async () => undefined, claim }, claims: () => claims };
  }

  it('does not try again until something has changed', async () => {
    const { clock, worker, job } = await workshop();
    const { job: kind, claims } = blocked();
    await job('s');
    worker.start([kind], undefined);
    await until(() => clock.sleeps === 1);
    for (let count = 2; count <= 4; count++) {
      worker.wake();
      await until(() => clock.sleeps === count);
    }
    expect(claims()).toBe(1);
    await job('other');
    worker.wake();
    await until(() => claims() === 2);
  });

  it('tries again when the next job is due, whether or not the first one may be claimed', async () => {
    const { store, clock, worker, job } = await workshop();
    const { job: kind, claims } = blocked();
    await job('s');
    await enqueueJob(store, { kind: 'k', subjectId: 'next', dueAt: clock.now() + 2_000 });
    worker.start([kind], undefined);
    await until(() => clock.sleeps === 1);
    clock.advance(1_999);
    worker.wake();
    await until(() => clock.sleeps === 2);
    expect(claims()).toBe(1);
    clock.advance(1);
    await until(() => claims() === 2);
  });

  it('sleeps until the first job of any kind is due', async () => {
    const { store, clock, worker } = await workshop();
    const starts: string[] = [];
    const run: Run = async (_, job) => {
      starts.push(job.kind);
      await releaseJob(store, job, { status: 'done' });
    };
    for (const [kind, wait] of [
      ['later', 4_000],
      ['soon', 1_000],
    ] as const)
      await enqueueJob(store, { kind, subjectId: 's', dueAt: clock.now() + wait });
    worker.start(
      ['later', 'soon', 'never'].map((kind) => ({ kind, concurrency: 1, run })),
      undefined,
    );
    await until(() => clock.sleeps === 1);
    clock.advance(1_000);
    await until(() => starts.length === 1);
    await rest();
    clock.advance(3_000);
    await until(() => starts.length === 2);
    expect(starts).toEqual(['soon', 'later']);
  });
});

it('renews a lease when a third of it has passed', async () => {
  const shop = await workshop();
  const { clock, worker, job } = shop;
  const begin = clock.now();
  await job('s');
  worker.start([{ kind: 'k', concurrency: 1, run: untilAborted }], undefined);
  const leaseEnd = async () => Number((await rowWhen(shop, 's', ({ status }) => status === 'running')).due_at) - begin;
  expect(await leaseEnd()).toBe(15_000);
  await until(() => clock.sleeps === 1);
  clock.advance(4_999);
  worker.wake();
  await until(() => clock.sleeps === 2);
  expect(await leaseEnd()).toBe(15_000);
  clock.advance(1);
  worker.wake();
  await until(() => clock.sleeps === 3);
  expect(await leaseEnd()).toBe(20_000);
  clock.advance(4_999);
  worker.wake();
  await until(() => clock.sleeps === 4);
  expect(await leaseEnd()).toBe(20_000);
});

it('claims what was due before the clock was set back', async () => {
  const { clock, worker, job } = await workshop();
  const [startGate, finish, nextGate] = [new Gate(), new Gate(), new Gate()];
  const run: Run = async (_, { subject_id }) => {
    if (subject_id === 'next') return nextGate.open();
    startGate.open();
    await finish.opened;
  };
  await job('first');
  worker.start([{ kind: 'k', concurrency: 1, run }], undefined);
  await startGate.opened;
  await job('next');
  await rest();
  clock.advance(-3_600_000);
  finish.open();
  await nextGate.opened;
});

it('renews its leases after the clock was set back, and takes those of a worker that has ended', async () => {
  const shop = await workshop();
  const { store, clock, worker, job } = shop;
  const begin = clock.now();
  await job('lost');
  await claimJob(store, 'k', { owner: 'another', now: begin, lease: 15_000 });
  await job('own');
  worker.start([{ kind: 'k', concurrency: 2, run: untilAborted }], undefined);
  await rowWhen(shop, 'own', ({ status }) => status === 'running');
  await rest();
  clock.advance(-3_600_000);
  worker.wake();
  const setBack = begin - 3_600_000;
  const until15s = ({ due_at }: JobRow): boolean => Number(due_at) === setBack + 15_000;
  await rowWhen(shop, 'own', until15s);
  await rowWhen(shop, 'lost', until15s);
  await rest();
  clock.advance(15_000);
  worker.wake();
  expect(await rowWhen(shop, 'lost', ({ owner }) => owner === 'me')).toMatchObject({ status: 'running' });
});

describe('a worker', () => {
  it('is alive while it polls at least once in two leases', async () => {
    const { store, clock, worker, job } = await workshop();
    const claiming = new Gate();
    const claimGate = new Gate();
    afterTest(async () => claimGate.open());
    expect(worker.isAlive()).toBe(false);
    const claim: Job<undefined>['claim'] = async (_, ...args) => {
      claiming.open();
      await claimGate.opened;
      return claimJob(...args);
    };
    const run: Run = async (_, job) => void (await releaseJob(store, job, { status: 'done' }));
    await job('s');
    worker.start([{ kind: 'k', concurrency: 1, run, claim }], undefined);
    expect(worker.isAlive()).toBe(true);
    await claiming.opened;
    clock.advance(30_000);
    expect(worker.isAlive()).toBe(true);
    clock.advance(1);
    expect(worker.isAlive()).toBe(false);
    claimGate.open();
    await until(() => worker.isAlive());
    await worker.close(10_000);
    expect(worker.isAlive()).toBe(false);
  });

  it('ends immediately while it is at rest', async () => {
    const { clock, worker } = await workshop();
    worker.start([{ kind: 'k', concurrency: 1, run: untilAborted }], undefined);
    await until(() => clock.sleeps === 1);
    let isClosed = false;
    void worker.close(60_000).then(() => {
      isClosed = true;
    });
    await rest();
    expect(isClosed).toBe(true);
  });

  it('holds jobs for as long as it was told', async () => {
    const shop = await workshop({ lease: 6_000 });
    await shop.job('s');
    shop.worker.start([{ kind: 'k', concurrency: 1, run: untilAborted }], undefined);
    const { due_at } = await rowWhen(shop, 's', ({ status }) => status === 'running');
    expect(Number(due_at) - shop.clock.now()).toBe(6_000);
  });

  it('checks a lease immediately when another node has changed the job or its subject', async () => {
    const { store, clock, worker, job } = await workshop();
    const ends: string[] = [];
    const run: Run = async (parts, job, signal) => {
      await untilAborted(parts, job, signal);
      ends.push(`${job.subject_id} ${signal.reason.reason}`);
    };
    for (const subject of ['a', 'b', 'c']) await job(subject);
    worker.start([{ kind: 'k', concurrency: 3, run }], undefined);
    await until(() => clock.sleeps === 1);
    const { id } = await store.selectFrom('jobs').select('id').where('subject_id', '=', 'b').executeTakeFirstOrThrow();
    for (const subject of ['a', 'b', 'c']) await revokeJob(store, 'k', subject);
    worker.noticeChanges(['a', 'unknown']);
    await until(() => ends.length === 1);
    worker.noticeChanges([id]);
    await until(() => ends.length === 2);
    await rest();
    expect(ends).toEqual(['a lost', 'b lost']);
  });

  it('reports each wake-up to those that wait for it', async () => {
    const { worker } = await workshop();
    const wakes: number[] = [];
    void worker.nextWake().then(() => wakes.push(1));
    await settle();
    expect(wakes).toEqual([]);
    worker.wake();
    void worker.nextWake().then(() => wakes.push(2));
    await settle();
    expect(wakes).toEqual([1]);
    worker.wake();
    await settle();
    expect(wakes).toEqual([1, 2]);
  });

  it('ends what a stopped job has left running, also if it is not being executed, but not that of other kinds', async () => {
    const { worker } = await workshop();
    const stops: string[] = [];
    const kinds = ['k', 'other', 'none'].map(
      (kind): Job<string> => ({
        kind,
        concurrency: (parts) => parts.length,
        run: async () => undefined,
        ...(kind === 'none' ? {} : { onStop: (parts: string, subjectId: string) => void stops.push(`${parts} ${kind} ${subjectId}`) }),
      }),
    );
    worker.start(kinds, 'parts');
    for (const kind of ['k', 'none', 'unknown']) worker.abort(kind, 's', 'stopped');
    expect(stops).toEqual(['parts k s']);
  });

  it('runs as many jobs at the same time as the parts of the engine say', async () => {
    const { worker, job } = await workshop();
    const starts: string[] = [];
    const run: Job<number>['run'] = async (_, job, signal) => {
      starts.push(job.subject_id);
      await untilAborted(undefined, job, signal);
    };
    await job('a');
    worker.start([{ kind: 'k', concurrency: (parts) => parts, run }], 2);
    await until(() => starts.length === 1);
    for (const subject of ['b', 'c']) await job(subject);
    worker.wake();
    await until(() => starts.length >= 2);
    await rest();
    expect(starts).toHaveLength(2);
  });
});
