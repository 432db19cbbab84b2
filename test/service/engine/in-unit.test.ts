/** The engine within a unit of work: what is outside of the database learns of changes after their commit. */
import { expect, it } from 'vitest';
import { type Engine, inUnit } from '../../../src/service/engine/engine.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';

it('wakes the worker and aborts jobs after the commit, and not at all without one', async () => {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  const seen: unknown[] = [];
  const worker = {
    wake: () => void seen.push('woken'),
    abort: (...job: unknown[]) => void seen.push(job),
    nextWake: async () => undefined,
    isWaitedFor: async (kind: string) => kind === 'busy',
  };
  const engine = { store, worker } as unknown as Engine;
  const change = (failure?: Error) =>
    store.atomically(async (unit) => {
      const { store: own, worker: signals } = inUnit(engine, unit);
      await own.insertInto('settings').values({ name: 'changed', value: '' }).execute();
      signals.abort('run', 'r', 'stopped');
      signals.wake();
      expect([seen, await signals.isWaitedFor('busy')]).toEqual([[], true]);
      if (failure !== undefined) throw failure;
    });
  await expect(change(new Error('refused'))).rejects.toThrow('refused');
  expect(seen).toEqual([]);
  await change();
  expect(seen).toEqual([['run', 'r', 'stopped'], 'woken']);
});
