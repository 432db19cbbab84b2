/** The status of a run's sandbox throughout its life, and when it is removed. */
import { existsSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inSandbox } from '../../../../src/service/api/shared/run-sandbox.ts';
import type { RunRow } from '../../../../src/service/store/database/schema.ts';
import { runById } from '../../../../src/service/store/runs/runs.ts';
import { needsSqlite, usesPostgres } from '../../../support/postgres.ts';
import { itNeeding } from '../../../support/requirements.ts';
import { afterTest } from '../../../support/temporary.ts';
import { ManualClock } from '../../helpers/clock.ts';
import { closeEngine, idleEngine } from '../../helpers/engine.ts';
import { Gate } from '../../helpers/runtime.ts';
import { type Api, startApi, type TestOptions } from '../../helpers/service.ts';
import { uploadForm } from '../../helpers/uploads.ts';

const day = 86_400_000;

function behaviours(gate = new Gate()): TestOptions['behaviours'] {
  return {
    write: async (host) => {
      await host.sandbox.write('note.txt', Buffer.from(`turn ${host.userMessages.length}`));
      return { status: 'completed' };
    },
    work: async (host) => {
      await host.sandbox.write('note.txt', Buffer.from('x'));
      await gate.opened;
      return { status: 'completed' };
    },
    ask: async () => ({ status: 'waiting', step: 'q', request: { type: 'approval', title: 'Go?' } }),
  };
}

const listing = async (api: Api, run_id: string) => (await api.ok('listRunSandboxFiles', { params: { run_id } })).data;
const note = async (api: Api, run_id: string) =>
  (await api.ok('getRunSandboxFileContent', { params: { run_id }, query: { path: 'note.txt' } })).data;

/** Polls until the sandbox is gone; a worker that went to sleep at the wrong moment is woken by the seconds that pass. */
async function untilGone(api: Api, clock: ManualClock, runId: string): Promise<void> {
  while ((await listing(api, runId)).sandboxStatus !== 'not_found') clock.advance(5_000);
}

it('is running while the run is executed, and paused otherwise', async () => {
  const gate = new Gate();
  const api = await startApi({ behaviours: behaviours(gate) });
  const working = await api.run('work');
  await api.until(working.id, 'running');
  while ((await listing(api, working.id)).entries.length === 0) await new Promise((resolve) => setImmediate(resolve));
  expect(await note(api, working.id)).toMatchObject({ sandboxStatus: 'running', content: 'x' });
  gate.open();
  await api.until(working.id, 'completed');
  expect(await listing(api, working.id)).toMatchObject({ sandboxStatus: 'paused', entries: [{ name: 'note.txt' }] });
  expect(await note(api, working.id)).toMatchObject({ sandboxStatus: 'paused', content: 'x' });
  const askingRun = await api.run('ask');
  await api.until(askingRun.id, 'waiting');
  expect((await listing(api, askingRun.id)).sandboxStatus).toBe('paused');
});

it('is empty, and has no folder, if nothing has been written in it', async () => {
  const api = await startApi({ behaviours: behaviours() });
  const { id, sandbox_id } = await api.run('ask');
  await api.until(id, 'waiting');
  const folder = join(api.dataDirectory, 'sandboxes', sandbox_id as string);
  expect(await listing(api, id)).toEqual({ sandboxStatus: 'paused', path: '/workspace', entries: [] });
  expect(await api.call('getRunSandboxFileContent', { params: { run_id: id }, query: { path: 'note.txt' } })).toMatchObject({
    status: 404,
    body: { error: 'file_not_found' },
  });
  expect((await api.ok('listSandboxFiles', { params: { sandbox_id: sandbox_id as string } })).files).toEqual([]);
  expect((await api.call('getRunSandboxArchive', { params: { run_id: id } })).status).toBe(200);
  // A node of several creates it for whoever looks.
  if (!usesPostgres) expect(existsSync(folder)).toBe(false);
  const upload = { params: { sandbox_id: sandbox_id as string }, body: uploadForm('note.txt', 'y') };
  expect((await api.call('uploadSandboxFile', upload)).status).toBe(201);
  expect(await note(api, id)).toMatchObject({ sandboxStatus: 'paused', content: 'y' });
});

itNeeding(needsSqlite, 'is not found if only an upload has created its folder, and that is gone', async () => {
  const api = await startApi({ behaviours: behaviours() });
  const { id, sandbox_id } = await api.run('ask');
  await api.until(id, 'waiting');
  const input = { params: { sandbox_id: sandbox_id as string }, body: uploadForm('note.txt', 'y') };
  const upload = async () => (await api.call('uploadSandboxFile', input)).status;
  expect(await upload()).toBe(201);
  await rm(join(api.dataDirectory, 'sandboxes', sandbox_id as string), { recursive: true });
  expect((await listing(api, id)).sandboxStatus).toBe('not_found');
  expect(await upload()).toBe(404);
});

itNeeding(needsSqlite, 'is not found if its folder is gone, and an error if the folder cannot be read', async () => {
  const api = await startApi({ behaviours: behaviours() });
  const run = await api.run('write');
  await api.until(run.id, 'completed');
  const home = join(api.dataDirectory, 'sandboxes', run.sandbox_id as string);
  await rm(join(home, 'workspace'), { recursive: true });
  await writeFile(join(home, 'workspace'), 'no folder');
  expect(await listing(api, run.id)).toEqual({ sandboxStatus: 'error', path: '/workspace', entries: [] });
  expect(await note(api, run.id)).toEqual({
    sandboxStatus: 'error',
    path: '/workspace/note.txt',
    isTextFile: false,
    content: null,
    size: 0,
    message: 'The sandbox of this run cannot be read.',
  });
  await rm(home, { recursive: true });
  expect(await listing(api, run.id)).toEqual({ sandboxStatus: 'not_found', path: '/workspace', entries: [] });
  expect(await note(api, run.id)).toMatchObject({
    sandboxStatus: 'not_found',
    content: null,
    message: 'The sandbox of this run has been removed.',
  });
});

it('is an error, which the log explains, if reading fails', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock, behaviours: behaviours() });
  const { id } = await api.run('write');
  await api.until(id, 'completed');
  await api.service.close();
  const logEntries: unknown[] = [];
  const engine = await idleEngine(clock, { dataDirectory: api.dataDirectory }, (...entry) => logEntries.push(entry));
  afterTest(() => closeEngine(engine));
  const run = (await runById(engine.store, id)) as RunRow;
  const result = await inSandbox({ engine, teamId: run.team_id }, run, () => Promise.reject(new Error('EIO')));
  expect(result).toEqual({ sandboxStatus: 'error', message: 'The sandbox of this run cannot be read.' });
  const fields = expect.objectContaining({ sandbox: run.sandbox_id, error: 'EIO' });
  expect(logEntries).toEqual([['error', 'a sandbox cannot be read', fields]]);
});

it('is removed after the retention time, not before, and only if one is set', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock, sandboxRetention: 7 * day, behaviours: behaviours() });
  const askingRun = await api.run('ask');
  await api.until(askingRun.id, 'waiting');
  const first = await api.run('write');
  await api.until(first.id, 'completed');
  clock.advance(day);
  const second = await api.run('write');
  await api.until(second.id, 'completed');

  clock.advance(6 * day - 1);
  expect((await listing(api, first.id)).sandboxStatus).toBe('paused');
  clock.advance(1);
  await untilGone(api, clock, first.id);
  expect(await note(api, first.id)).toMatchObject({ sandboxStatus: 'not_found', path: '/workspace/note.txt' });
  expect((await listing(api, second.id)).sandboxStatus).toBe('paused');
  clock.advance(day);
  await untilGone(api, clock, second.id);
  expect((await listing(api, askingRun.id)).sandboxStatus).toBe('paused');
  // With Postgres, the folder of a sandbox that is kept may also be removed: its files are in the database.
  const otherFolders = async () => (await readdir(join(api.dataDirectory, 'sandboxes'))).filter((name) => name !== askingRun.sandbox_id);
  while ((await otherFolders()).length > 0) await new Promise((resolve) => setImmediate(resolve));
  // The messages of the run are kept.
  expect((await api.ok('getRun', { params: { run_id: first.id } })).run.status).toBe('completed');

  const retainingApi = await startApi({ clock, behaviours: behaviours() });
  const run = await retainingApi.run('write');
  await retainingApi.until(run.id, 'completed');
  clock.advance(10_000 * day);
  expect((await listing(retainingApi, run.id)).sandboxStatus).toBe('paused');
});

it('is kept from the end of the last run that used it, even if that run was continued', async () => {
  const clock = new ManualClock();
  const api = await startApi({ clock, sandboxRetention: 7 * day, behaviours: behaviours() });
  const first = await api.run('write', 'one');
  await api.until(first.id, 'completed');
  clock.advance(6 * day);
  await api.ok('postRunMessage', { params: { run_id: first.id }, body: { message: 'two' } });
  await api.until(first.id, 'completed');
  expect((await note(api, first.id)).content).toBe('turn 2');
  clock.advance(6 * day);
  expect((await listing(api, first.id)).sandboxStatus).toBe('paused');
  const { run: otherRun } = await api.ok('startRun', {
    body: { agent_id: first.agent_id as string, sandbox_id: first.sandbox_id as string },
  });
  await api.until(otherRun.id, 'completed');
  clock.advance(2 * day);
  expect((await listing(api, first.id)).sandboxStatus).toBe('paused');
  clock.advance(5 * day);
  await untilGone(api, clock, first.id);
  expect((await listing(api, otherRun.id)).sandboxStatus).toBe('not_found');
  const answer = await api.call('startRun', { body: { agent_id: first.agent_id, sandbox_id: first.sandbox_id } });
  expect(answer.status).toBe(404);

  // A run that continues after that starts with an empty sandbox.
  await api.ok('postRunMessage', { params: { run_id: first.id }, body: { message: 'three' } });
  await api.until(first.id, 'completed');
  expect(await note(api, first.id)).toMatchObject({ sandboxStatus: 'paused', content: 'turn 3' });
  expect(existsSync(join(api.dataDirectory, 'sandboxes', `${first.sandbox_id}.removed`))).toBe(false);
});

it('is empty after its removal if the run continues without writing', async () => {
  const clock = new ManualClock();
  let isWriting = true;
  const api = await startApi({
    clock,
    sandboxRetention: 7 * day,
    behaviours: {
      work: async (host) => {
        if (isWriting) await host.sandbox.write('note.txt', Buffer.from('x'));
        return { status: 'completed' };
      },
    },
  });
  const run = await api.run('work', 'one');
  await api.until(run.id, 'completed');
  clock.advance(7 * day);
  await untilGone(api, clock, run.id);
  isWriting = false;
  await api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'two' } });
  await api.until(run.id, 'completed');
  expect(await listing(api, run.id)).toEqual({ sandboxStatus: 'paused', path: '/workspace', entries: [] });
});

it('is removed according to the current retention time, even for runs that ended earlier', async () => {
  const clock = new ManualClock();
  const first = await startApi({ clock, behaviours: behaviours() });
  const run = await first.run('write');
  await first.until(run.id, 'completed');
  clock.advance(30 * day);
  await first.service.close();
  const second = await startApi({ clock, dataDirectory: first.dataDirectory, sandboxRetention: 40 * day, behaviours: behaviours() });
  expect((await listing(second, run.id)).sandboxStatus).toBe('paused');
  await second.service.close();
  const third = await startApi({ clock, dataDirectory: first.dataDirectory, sandboxRetention: 20 * day, behaviours: behaviours() });
  await untilGone(third, clock, run.id);
});
