/** What waits while the data directory is copied, and what does not. */
import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { RunHost } from '../../../../src/service/runtimes/run-host.ts';
import { eventually } from '../../../support/eventually.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { type Api, startApi } from '../../helpers/service.ts';
import { uploadForm } from '../../helpers/uploads.ts';

const hour = 60 * 60 * 1_000;

/** Executes two steps, and reports the start of each. */
function steps() {
  const starts: string[] = [];
  const behaviour = async (host: RunHost) => {
    for (const step of ['one', 'two']) {
      if (host.journal.has(step)) continue;
      starts.push(step);
      await host.sandbox.write(step, Buffer.from(step));
      await host.commit(step, step);
    }
    return { status: 'completed' as const };
  };
  return { begun: starts, behaviour };
}

const statusOf = async (api: Api, id: string) => (await api.ok('getRun', { params: { run_id: id } })).run.status;

/** Lets everything proceed that is due, often enough to show that something does not happen. */
async function untilQuiet(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe('while everything is held', () => {
  it('runs do not take another step, requests are answered, and the file is the database at that moment', async () => {
    const { begun, behaviour } = steps();
    const api = await startApi({ behaviours: { steps: behaviour } });
    const agent = await api.agent('steps');
    const { hold } = await api.ok('createBackupHold');
    const { run } = await api.ok('startRun', { body: { agent_id: agent } });
    await eventually('the first step is being taken', () => begun.length > 0);
    await untilQuiet();
    expect(begun).toEqual(['one']);
    expect(await statusOf(api, run.id)).toBe('running');
    // This process has the database open and locked. Closing a copy of the file releases the lock, but no other process wants it.
    const copy = join(await temporaryDirectory(), 'copy.db');
    await copyFile(join(api.dataDirectory, 'aops.db'), copy);
    const database = new Libsql(copy);
    expect(database.prepare('select count(*) as count from runs').all([])).toEqual([{ count: 0 }]);
    expect(database.prepare('select count(*) as count from agents').all([])).toEqual([{ count: 1 }]);
    expect(database.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    database.close();
    await api.ok('updateBackupHold', { params: { hold_id: hold.id }, body: { holds: 'files' } });
    await eventually('the run goes on', async () => (await statusOf(api, run.id)) === 'completed');
    expect(begun).toEqual(['one', 'two']);
  });

  it('runs continue after they have waited for 15 seconds, which is logged', async () => {
    const clock = new ManualClock();
    const { begun, behaviour } = steps();
    const api = await startApi({ clock, behaviours: { steps: behaviour } });
    const agent = await api.agent('steps');
    const { hold } = await api.ok('createBackupHold');
    const { run } = await api.ok('startRun', { body: { agent_id: agent } });
    await eventually('the first step is being taken', () => begun.length > 0);
    clock.advance(15_000);
    await eventually('the run goes on', async () => (await statusOf(api, run.id)) === 'completed');
    const result = await api.ok('updateBackupHold', { params: { hold_id: hold.id }, body: { holds: 'files' } });
    expect(result.hold).toMatchObject({ holds: 'files', runs_waited: false });
  });

  it('a waiting run can be stopped', async () => {
    const { begun, behaviour } = steps();
    const api = await startApi({ behaviours: { steps: behaviour } });
    const agent = await api.agent('steps');
    const { hold } = await api.ok('createBackupHold');
    const { run } = await api.ok('startRun', { body: { agent_id: agent } });
    await eventually('the first step is being taken', () => begun.length > 0);
    await api.ok('stopRun', { params: { run_id: run.id } });
    expect(await statusOf(api, run.id)).toBe('interrupted');
    await api.ok('deleteBackupHold', { params: { hold_id: hold.id } });
    await untilQuiet();
    expect(begun).toEqual(['one']);
  });
});

describe('while files are held', () => {
  it('nothing is removed until afterwards', async () => {
    const clock = new ManualClock();
    const { behaviour } = steps();
    const api = await startApi({ clock, runRetention: hour / 2, behaviours: { steps: behaviour } });
    const run = await api.run('steps');
    await api.until(run.id, 'completed');
    const folder = join(api.dataDirectory, 'sandboxes', run.sandbox_id as string);
    // Removal is due once an hour.
    clock.advance(hour - 10_000);
    const params = { hold_id: (await api.ok('createBackupHold')).hold.id };
    await api.ok('updateBackupHold', { params, body: { holds: 'files' } });
    clock.advance(20_000);
    await untilQuiet();
    expect([existsSync(folder), (await api.call('getRun', { params: { run_id: run.id } })).status]).toEqual([true, 200]);
    await api.ok('deleteBackupHold', { params });
    await eventually('the run is removed', () => !existsSync(folder));
    expect((await api.call('getRun', { params: { run_id: run.id } })).status).toBe(404);
  });

  it('unused sandboxes stay as well', async () => {
    const clock = new ManualClock();
    const api = await startApi({ clock });
    const { sandbox_id: id } = await api.ok('createSandbox');
    await api.call('uploadSandboxFile', { params: { sandbox_id: id }, body: uploadForm('a.txt', 'a') });
    const folder = join(api.dataDirectory, 'sandboxes', id);
    clock.advance(24 * hour - 10_000);
    const params = { hold_id: (await api.ok('createBackupHold')).hold.id };
    clock.advance(20_000);
    await untilQuiet();
    expect(existsSync(folder)).toBe(true);
    await api.ok('deleteBackupHold', { params });
    await eventually('the sandbox is removed', () => !existsSync(folder));
  });
});
