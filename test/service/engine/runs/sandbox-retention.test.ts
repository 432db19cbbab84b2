/** When sandboxes of ended runs are removed next: neither so often that it costs anything, nor so late that a set clock matters. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { StartableEngine } from '../../../../src/service/engine/create-engine.ts';
import { expireRunSandboxesJob } from '../../../../src/service/engine/runs/sandbox-retention.ts';
import type { RunHost } from '../../../../src/service/runtimes/run-host.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { closeEngine, execute, idleEngine } from '../../helpers/engine.ts';
import { repeating } from '../../helpers/repeating.ts';
import { testRuntime } from '../../helpers/runtime.ts';
import { startApi } from '../../helpers/service.ts';
import { storedRows } from '../../helpers/stored.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

async function write(host: RunHost) {
  await host.sandbox.write('note.txt', Buffer.from('note'));
  return { status: 'completed' as const };
}

it.each([
  ['one second', 1_000, minute],
  ['an hour', 60 * minute, 60 * minute],
  ['a week', 7 * day, day],
])('with a retention time of %s', async (_, sandboxRetention, expected) => {
  const clock = new ManualClock();
  const behaviours = { write };
  const first = await startApi({ clock, behaviours });
  const run = await first.run('write');
  await first.until(run.id, 'completed');
  await first.service.close();
  const folder = join(first.dataDirectory, 'sandboxes', run.sandbox_id as string);
  expect(existsSync(folder)).toBe(true);
  clock.advance(sandboxRetention);
  const second = await startApi({ clock, dataDirectory: first.dataDirectory, sandboxRetention, behaviours });
  const start = clock.now();
  while (existsSync(folder)) await new Promise((resolve) => setImmediate(resolve));
  await second.service.close();
  const [job] = await storedRows(first.dataDirectory, `select status, due_at from jobs where kind = 'expire_run_sandboxes'`);
  expect(job).toEqual({ status: 'queued', due_at: start + expected });
});

it('a sandbox stays if the transaction that removes it is executed again, and its run has continued meanwhile', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock, behaviours: { write } });
  const run = await api.run('write');
  await api.until(run.id, 'completed');
  await api.service.close();
  clock.advance(day);
  const runtimes = [testRuntime({ write })];
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory, runtimes, sandboxRetention: minute });
  afterTest(() => closeEngine(engine));
  const folder = join(api.dataDirectory, 'sandboxes', run.sandbox_id as string);
  const store = repeating(engine.store, async () => {
    expect(existsSync(folder)).toBe(false);
    await engine.store.updateTable('runs').set({ status: 'pending', completed_at: null }).execute();
  });
  await execute({ ...engine, store } as StartableEngine, expireRunSandboxesJob, 'all');
  expect(existsSync(join(folder, 'workspace', 'note.txt'))).toBe(true);
});
