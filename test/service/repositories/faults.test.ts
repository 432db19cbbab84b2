/** Repositories when git is missing or fails, the service ends, or files are removed. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { Git } from '../../../src/service/repositories/git.ts';
import { Mirrors } from '../../../src/service/repositories/mirrors.ts';
import type { RunHost } from '../../../src/service/runtimes/run-host.ts';
import { eventually } from '../../support/eventually.ts';
import { newRepository, type TestRepository } from '../../support/repository.ts';
import { tarOf } from '../../support/tar.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { type Api, startApi } from '../helpers/service.ts';
import { storedRows } from '../helpers/stored.ts';

let folder: string;
let source: TestRepository;
/** Exists while the git of the service misbehaves. */
let flag: string;
/** PATH of a git that executes a shell command instead of one of its own, while the flag exists. */
let bin: string;
beforeEach(async () => {
  folder = await temporaryDirectory();
  source = await newRepository(path.join(folder, 'shop'), { 'a.txt': 'a', 'dir/b.txt': 'b' });
  flag = path.join(folder, 'flag');
  await writeFile(flag, '');
});

async function misbehave(command: string, effect: string): Promise<void> {
  bin = path.join(folder, 'bin');
  await mkdir(bin);
  const real = path.join((await source.git('--exec-path')).trim(), 'git');
  const script = `#!/bin/sh\nfor word in "$@"; do if [ "$word" = ${command} ] && [ -e ${flag} ]; then\n${effect}\nfi; done\nexec ${real} "$@"\n`;
  await writeFile(path.join(bin, 'git'), script);
  await chmod(path.join(bin, 'git'), 0o700);
}

async function write(host: RunHost) {
  await host.sandbox.write('new.txt', Buffer.from('new'));
  return { status: 'completed' as const };
}
const behaviours = { write };

async function start(api: Api, more: object = {}) {
  const agent_id = await api.agent('write', `write ${randomUUID()}`);
  const { run } = await api.ok('startRun', {
    params: { teamId: api.service.teamId },
    body: { agent_id, repository: { path: source.folder }, ...more },
  });
  return { ...run, workspace: path.join(api.dataDirectory, 'sandboxes', run.sandbox_id as string, 'workspace') };
}
const changedFiles = async (api: Api, run_id: string): Promise<string[]> =>
  (await api.ok('getRunChanges', { params: { run_id } })).data.files.map((file) => file.path);

describe('git on the machine of the service', () => {
  it('is missing: the run is not created, and the error says what to install', async () => {
    const api = await startApi({ behaviours, commandPath: folder });
    await expect(start(api)).rejects.toThrow(/git_not_found.*apt-get install git.*409/s);
  });

  it('is killed: the run fails, and the next one works', async () => {
    await misbehave('fetch', 'kill -9 $$');
    const api = await startApi({ behaviours, commandPath: `${bin}:/usr/bin:/bin` });
    const killedRun = await start(api);
    expect((await api.until(killedRun.id, 'failed')).error).toBe(
      `git was terminated by SIGKILL while fetching ${source.folder}. Start another run.`,
    );
    await rm(flag);
    const run = await start(api);
    await api.until(run.id, 'completed');
    expect(await changedFiles(api, run.id)).toEqual(['new.txt']);
  });

  it('finds the disk full: the run waits until there is space', async () => {
    await misbehave('read-tree', `rm ${flag}; echo 'fatal: cannot write: No space left on device' >&2; exit 128`);
    const api = await startApi({ behaviours, commandPath: `${bin}:/usr/bin:/bin` });
    const run = await start(api);
    await api.until(run.id, 'completed');
    expect(existsSync(flag)).toBe(false);
    expect(await changedFiles(api, run.id)).toEqual(['new.txt']);
  });

  it('takes long: the run reports its progress, but not too often', async () => {
    const [begun, proceed] = [path.join(folder, 'begun'), path.join(folder, 'proceed')];
    const wait = `touch ${begun}; while [ ! -e ${proceed} ]; do sleep 0.05; done`;
    await misbehave('fetch', `${wait}; printf 'Objects: 45%%\\rObjects: 46%%\\r' >&2`);
    const clock = new ManualClock();
    const api = await startApi({ clock, behaviours, commandPath: `${bin}:/usr/bin:/bin` });
    const run = await start(api);
    await eventually('git is fetching', () => existsSync(begun));
    clock.advance(20_000);
    await writeFile(proceed, '');
    await api.until(run.id, 'completed');
    const { messages } = await api.ok('listRunMessages', { params: { run_id: run.id } });
    expect(messages.map(({ text_content }) => text_content)).toEqual([
      `Reading ${source.folder}: Objects: 45%`,
      expect.stringContaining('Checked out main'),
    ]);
  });

  it('fails for another reason, which the run names', async () => {
    await misbehave('fetch', "echo 'fatal: the pack is broken.' >&2; exit 128");
    const api = await startApi({ behaviours, commandPath: `${bin}:/usr/bin:/bin` });
    expect((await api.until((await start(api)).id, 'failed')).error).toBe(
      `git failed while fetching ${source.folder}: fatal: the pack is broken.`,
    );
  });

  it('is terminated with everything that it has started when it takes too long', async () => {
    const pid = path.join(folder, 'pid');
    await misbehave('fetch', `sleep 600 & echo $! > ${pid}; wait`);
    const git = new Git({ path: `${bin}:/usr/bin:/bin`, home: folder });
    const call = git.run(['fetch'], { cwd: folder, timeLimit: 500, task: 'fetching it', signal: new AbortController().signal });
    await expect(call).rejects.toThrow('git was stopped after 500ms while fetching it.');
    const child = Number(await readFile(pid, 'utf8'));
    await eventually('the process is gone', () => !existsSync(`/proc/${child}/stat`) || !isRunning(child));
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a service that ends', () => {
  it('checks the repository out again after it ended in the middle, and keeps what was uploaded', async () => {
    const begun = path.join(folder, 'begun');
    await misbehave(
      'read-tree',
      `mkdir -p "$GIT_WORK_TREE/dir"; echo partial > "$GIT_WORK_TREE/a.txt"; echo partial > "$GIT_WORK_TREE/dir/b.txt"; touch ${begun}; sleep 600`,
    );
    const first = await startApi({ behaviours, commandPath: `${bin}:/usr/bin:/bin` });
    const { sandbox_id } = await first.ok('createSandbox', {});
    await first.ok('uploadSandboxArchive', { params: { sandbox_id }, body: tarOf({ 'upload.txt': 'upload' }) });
    const { workspace, ...run } = await start(first, { sandbox_id });
    await eventually('the checkout has begun', () => existsSync(begun));
    await first.service.close();
    const second = await startApi({ behaviours, dataDirectory: first.dataDirectory });
    await second.until(run.id, 'completed');
    expect(await readFile(path.join(workspace, 'a.txt'), 'utf8')).toBe('a');
    expect(await readFile(path.join(workspace, 'dir/b.txt'), 'utf8')).toBe('b');
    expect(await readFile(path.join(workspace, 'upload.txt'), 'utf8')).toBe('upload');
    expect(await changedFiles(second, run.id)).toEqual(['new.txt']);
  });

  it('fetches a mirror again that it had not finished', async () => {
    await misbehave('fetch', 'sleep 600');
    const first = await startApi({ behaviours, commandPath: `${bin}:/usr/bin:/bin` });
    const run = await start(first);
    const mirrors = path.join(first.dataDirectory, 'repositories', 'mirrors');
    const busy = async (): Promise<string[]> =>
      (await readdir(mirrors, { recursive: true }).catch(() => [])).filter((name) => name.endsWith('aops-busy'));
    await eventually('the mirror is being filled', async () => (await busy()).length === 1);
    await first.service.close();
    const second = await startApi({ behaviours, dataDirectory: first.dataDirectory });
    await second.until(run.id, 'completed');
    expect(await busy()).toEqual([]);
  });
});

describe('retention', () => {
  it('removes the repository with the sandbox, and gives it to a run that continues, at the same commit', async () => {
    const clock = new ManualClock();
    const first = await startApi({ clock, behaviours });
    const run = await start(first);
    await first.until(run.id, 'completed');
    const { commit } = (await first.ok('getRunChanges', { params: { run_id: run.id } })).data.repository;
    await first.service.close();
    clock.advance(1_000);
    const second = await startApi({ clock, dataDirectory: first.dataDirectory, sandboxRetention: 1_000, behaviours });
    await eventually('the sandbox is removed', () => !existsSync(path.dirname(run.workspace)));
    expect(await second.call('getRunChanges', { params: { run_id: run.id } })).toMatchObject({
      status: 404,
      body: { error: 'sandbox_not_found' },
    });
    await source.commit('Later', { 'a.txt': 'later' });
    await second.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'again' } });
    await second.until(run.id, 'completed');
    expect(await readFile(path.join(run.workspace, 'a.txt'), 'utf8')).toBe('a');
    const { data } = await second.ok('getRunChanges', { params: { run_id: run.id } });
    expect(data.repository.commit).toBe(commit);
    expect(data.files.map((file) => file.path)).toEqual(['new.txt']);
  });

  it('removes the record of the repository with the run', async () => {
    const clock = new ManualClock();
    const first = await startApi({ clock, behaviours });
    const run = await start(first);
    await first.until(run.id, 'completed');
    await first.service.close();
    clock.advance(1_000);
    const second = await startApi({ clock, dataDirectory: first.dataDirectory, runRetention: 1_000, behaviours });
    await eventually('the run is removed', () => !existsSync(path.dirname(run.workspace)));
    await second.service.close();
    expect(await storedRows(first.dataDirectory, 'select * from sandbox_repositories')).toEqual([]);
  });

  it('removes mirrors that have not been used for a week', async () => {
    const git = new Git({ path: '/usr/bin:/bin', home: folder });
    const now = Date.now();
    for (const [name, days] of [
      ['old', 8],
      ['new', 6],
    ] as const) {
      await mkdir(path.join(folder, 'mirrors', name), { recursive: true });
      const usedAt = new Date(now - days * 24 * 60 * 60_000);
      await utimes(path.join(folder, 'mirrors', name), usedAt, usedAt);
    }
    await new Mirrors(path.join(folder, 'mirrors'), git).sweep(now);
    expect(await readdir(path.join(folder, 'mirrors'))).toEqual(['new']);
  });
});
