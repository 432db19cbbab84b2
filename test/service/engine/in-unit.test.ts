/** The engine within a unit of work: what is outside of the database learns of changes after their commit. */
import { expect, it } from 'vitest';
import { type Engine, inUnit } from '../../../src/service/engine/engine.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';

it('wakes the worker and aborts jobs after the commit, and not at all without one', async () => {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  const observations: unknown[] = [];
  const worker = {
    wake: () => void observations.push('woken'),
    abort: (...job: unknown[]) => void observations.push(job),
    nextWake: async () => undefined,
    isWaitedFor: async (kind: string) => kind === 'busy',
  };
  const backups = { inUnit: () => backups };
  const engine = { store, worker, backups } as unknown as Engine;
  const change = (failure?: Error) =>
    store.atomically(async (unit) => {
      const { store: unitStore, worker: signals } = inUnit(engine, unit);
      await unitStore.insertInto('settings').values({ name: 'changed', value: '' }).execute();
      signals.abort('run', 'r', 'stopped');
      signals.wake();
      expect([observations, await signals.isWaitedFor('busy')]).toEqual([[], true]);
      if (failure !== undefined) throw failure;
    });
  await expect(change(new Error('refused'))).rejects.toThrow('refused');
  expect(observations).toEqual([]);
  await change();
  expect(observations).toEqual([['run', 'r', 'stopped'], 'woken']);
});
