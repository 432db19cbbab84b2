/** When sandboxes of ended runs are removed next: neither so often that it costs anything, nor so late that a set clock matters. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import type { RunHost } from '../../../../src/service/runtimes/runtime.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { startApi } from '../../helpers/service.ts';

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
  const file = new Libsql(join(first.dataDirectory, 'aops.db'));
  const [job] = file.prepare(`select status, due_at from jobs where kind = 'expire_run_sandboxes'`).all([]);
  file.close();
  expect(job).toEqual({ status: 'queued', due_at: start + expected });
});
