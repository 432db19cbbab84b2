import { describe, expect, it } from 'vitest';
import { Worker } from '../../../src/service/engine/jobs/worker.ts';
import { Readiness } from '../../../src/service/operating/readiness.ts';
import { hostLauncher } from '../../../src/service/sandbox/launch.ts';
import type { Store } from '../../../src/service/store/database/database.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { enqueueJob } from '../../../src/service/store/jobs/jobs.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { Gate } from '../helpers/runtime.ts';

const noLog = () => undefined;
const files = { check: async () => undefined };

async function openStore(): Promise<Store> {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  return store;
}

describe('a service', () => {
  it('is not ready when its store cannot be written', async () => {
    const clock = new ManualClock();
    const store = await openDatabase(await temporaryDirectory());
    const readiness = new Readiness({ containment: hostLauncher, store, files, clock, log: noLog, worker: { isAlive: () => true } });
    expect(await readiness.state()).toEqual({ status: 'ready', checks: { store: 'ok', files: 'ok', worker: 'ok' }, exec: 'host' });
    await store.destroy();
    // What was seen a moment ago is still good: anybody may ask as often as they like.
    expect((await readiness.state()).checks.store).toBe('ok');
    clock.advance(1_000);
    expect(await readiness.state()).toEqual({ status: 'not_ready', checks: { store: 'failed', files: 'ok', worker: 'ok' }, exec: 'host' });
  });

  it('reports why it cannot be written, if that is known', async () => {
    const store = await openStore();
    const fullStore = new Proxy(store, {
      get: (target, name, receiver) => {
        if (name === 'insertInto' || name === 'updateTable')
          return () => {
            throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
          };
        return Reflect.get(target, name, receiver) as unknown;
      },
    });
    const readiness = new Readiness({
      containment: hostLauncher,
      store: fullStore,
      files,
      clock: new ManualClock(),
      log: noLog,
      worker: { isAlive: () => true },
    });
    expect(await readiness.state()).toEqual({
      status: 'not_ready',
      checks: { store: 'failed', files: 'ok', worker: 'ok' },
      exec: 'host',
      reason: 'disk_full',
    });
  });

  it('is not ready without a worker that looks for work', async () => {
    const clock = new ManualClock();
    const store = await openStore();
    const worker = new Worker({ store, clock, log: noLog, owner: 'me', lease: 1_000 });
    const readiness = new Readiness({ containment: hostLauncher, store, files, clock, log: noLog, worker });
    expect((await readiness.state()).checks.worker).toBe('failed');
    worker.start([], undefined);
    while (!worker.isAlive()) await new Promise((resolve) => setImmediate(resolve));
    expect((await readiness.state()).status).toBe('ready');
    await worker.close(1_000);
    expect((await readiness.state()).status).toBe('not_ready');
  });

  it('whose worker hangs is not ready', async () => {
    const clock = new ManualClock();
    const store = await openStore();
    const worker = new Worker({ store, clock, log: noLog, owner: 'me', lease: 1_000 });
    await enqueueJob(store, { kind: 'run', subjectId: 's', dueAt: clock.now() });
    const hangGate = new Gate();
    let hangs = false;
    const claim = async (): Promise<undefined> => {
      if (!hangs) return undefined;
      hangGate.open();
      await endGate.opened;
      return undefined;
    };
    // A claim is part of a transaction, and the database is closed after the end of the transaction.
    const endGate = new Gate();
    afterTest(async () => endGate.open());
    worker.start([{ kind: 'run', concurrency: 1, run: async () => undefined, claim }], undefined);
    while (clock.sleeps === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(worker.isAlive()).toBe(true);
    hangs = true;
    clock.advance(1_000);
    await hangGate.opened;
    expect(worker.isAlive()).toBe(true);
    clock.advance(1_500);
    expect(worker.isAlive()).toBe(false);
    await worker.close(1);
  });
});
