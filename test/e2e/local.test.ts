/** The life cycle of the local service, with the real binary. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { lchown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { commandLine, Machine } from '../support/machine.ts';
import { takenPort } from '../support/ports.ts';
import { isAlive } from '../support/processes.ts';
import { itNeeding } from '../support/requirements.ts';
import { needsSmallDisk, smallDisk } from '../support/small-disk.ts';

interface Status {
  running: boolean;
  url: string;
  pid: number;
  data_dir: string;
  profile: string | null;
  team_id: string;
  version: string;
}

describe.concurrent('up, status, logs, down, reset', () => {
  it('work from the first start to the last', async () => {
    const machine = await Machine.create();
    expect(await machine.json<Status>('local', 'status')).toMatchObject({
      running: false,
      url: null,
      pid: null,
      profile: null,
      team_id: null,
      version: null,
    });
    const emptyResult = await machine.aops('local', 'down');
    expect(emptyResult).toMatchObject({ code: 0, stdout: 'The local service is not running.\n', stderr: '' });
    const noLog = await machine.aops('local', 'logs');
    expect(noLog).toMatchObject({ code: 3, stdout: '' });
    expect(noLog.stderr).toContain('hint: Start the local service with `aops local up`.');

    const upResult = await machine.aops('local', 'up', '--exec', 'host');
    expect(upResult).toMatchObject({ code: 0, stderr: 'The local service is running.\n' });
    expect(upResult.stdout).toMatch(/^URL\thttp:\/\/127\.0\.0\.1:\d+\nData\t\S+\nProfile\tlocal \(selected\)\nCommands\trun as you/);
    const status = await machine.json<Status>('local', 'status');
    for (const key of ['running', 'url', 'pid', 'data_dir', 'profile', 'team_id', 'version']) expect(Object.keys(status)).toContain(key);
    expect(status).toMatchObject({ running: true, profile: 'local', data_dir: path.join(machine.folder, 'data/local') });
    expect(upResult.stdout).toContain(`URL\t${status.url}\n`);
    expect(status.version).toBe((await machine.aops('--version')).stdout.trim());
    expect((await machine.aops('local', 'status')).stdout).toContain('Commands\trun as you');
    // Only its owner can read it.
    expect((await stat(status.data_dir)).mode & 0o077).toBe(0);
    expect((await stat(path.join(status.data_dir, 'token'))).mode & 0o777).toBe(0o600);
    const token = (await readFile(path.join(status.data_dir, 'token'), 'utf8')).trim();

    // As if `local up` could not store it.
    expect((await machine.aops('profiles', 'delete', 'local', '--yes')).code).toBe(0);
    expect((await machine.json<Status>('local', 'status')).profile).toBeNull();
    expect((await machine.aops('local', 'status')).stdout).toContain('Profile\tmissing (create it with `aops local up`)\n');
    const repeatFinished = await machine.aops('local', 'up');
    expect(repeatFinished).toMatchObject({ code: 0, stdout: upResult.stdout, stderr: 'The local service is already running.\n' });
    expect((await machine.json<Status>('local', 'status')).pid).toBe(status.pid);
    for (const flags of [['--ephemeral'], ['--data-dir', 'elsewhere'], ['--port', '1'], ['--exec', 'off']]) {
      const otherResult = await machine.aops('local', 'up', ...flags);
      expect(otherResult).toMatchObject({ code: 6, stdout: '' });
      expect(otherResult.stderr).toContain('stop it with `aops local down`');
    }

    expect((await machine.json<{ data: unknown[] }>('profiles', 'list')).data).toMatchObject([
      { name: 'local', current: true, signed_in: true },
    ]);
    // Every file of the team page is in the bundle.
    const sourceFolder = path.join(import.meta.dirname, '../../src/service/page/team-page');
    const files = (await readdir(sourceFolder)).filter((name) => /\.(css|js|svg)$/.test(name)).map((name) => `page/${name}`);
    for (const file of ['', ...files]) expect((await fetch(`${status.url}/${file}`)).status, file).toBe(200);
    const openResult = await machine.json<{ url: string; opened: boolean }>('local', 'open', '--no-browser');
    expect(openResult).toMatchObject({ opened: false, url: expect.stringContaining(`${status.url}/#code=`) });

    await machine.agent('kept', '- say: hi');
    const logs = await machine.aops('local', 'logs');
    expect(logs).toMatchObject({ code: 0, stderr: '' });
    expect(logs.stdout).toContain('service started');
    expect(logs.stdout).not.toContain(token);
    const entries = logs.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(entries).toContainEqual(expect.objectContaining({ event: 'listening', url: status.url, team_id: status.team_id }));

    const downResult = await machine.aops('local', 'down');
    expect(downResult).toMatchObject({ code: 0, stdout: `Stopped the local service at ${status.url}.\n`, stderr: '' });
    await eventually('the process is gone', () => !isAlive(status.pid));

    // The data still exists at the next start, and is removed by reset.
    expect((await machine.aops('local', 'up')).code).toBe(0);
    expect((await machine.aops('agents', 'list', '--jq', '.data[].name')).stdout).toBe('kept\n');
    const unconfirmedResult = await machine.aops('local', 'reset');
    expect(unconfirmedResult).toMatchObject({ code: 2, stdout: '' });
    expect(unconfirmedResult.stderr).toContain('--yes');
    expect((await machine.json<Status>('local', 'status')).running).toBe(true);
    const { pid } = await machine.json<Status>('local', 'status');
    expect(await machine.aops('local', 'reset', '--yes')).toMatchObject({
      code: 0,
      stdout: `Deleted the data in ${status.data_dir}.\n`,
      stderr: '',
    });
    await eventually('the process is gone', () => !isAlive(pid));
    expect(existsSync(status.data_dir)).toBe(false);
    expect((await machine.aops('local', 'reset', '--yes')).stdout).toBe(`There is no data in ${status.data_dir}.\n`);
  });

  it('reset only the data of the service if the directory contains other files', async () => {
    const machine = await Machine.create();
    for (const folder of ['shared/files', 'shared/backups']) await mkdir(path.join(machine.folder, folder), { recursive: true });
    for (const name of ['notes.txt', 'files/mine.txt', 'backups/home.tgz']) await machine.file(`shared/${name}`, name);
    const directoryFlags = ['--data-dir', path.join(machine.folder, 'shared')];
    expect((await machine.aops('local', 'up', '--exec', 'host', ...directoryFlags)).code).toBe(0);
    await machine.agent('pay', '- exec: { run: "echo hi > hi.txt" }');
    expect((await machine.aops('runs', 'wait', await machine.startRun('pay'))).code).toBe(0);
    const { code, stdout, stderr } = await machine.aops('local', 'reset', ...directoryFlags, '--yes');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Deleted the data in ${directoryFlags[1]}.\n` });
    expect(stderr).toMatch(/^Other files in \S+ were kept, such as \S+\.\n$/);
    expect((await readdir(directoryFlags[1] as string, { recursive: true })).sort()).toEqual(
      ['backups', 'backups/home.tgz', 'files', 'files/mine.txt', 'notes.txt'].map((name) => path.normalize(name)),
    );
  });

  it('let a client that watches a run find the service again', async () => {
    const machine = await Machine.create();
    expect((await machine.aops('local', 'up')).code).toBe(0);
    await machine.agent('pay', '- say: started\n- approve: { id: pay, title: "Pay 3 invoices?" }\n- say: "went on"');
    const run = await machine.startRun('pay');
    const watcher = machine.start('aops', ['runs', 'watch', run, '--on-request', 'wait']);
    await watcher.says('Pay 3 invoices?');
    const { url } = await machine.json<Status>('local', 'status');
    expect((await machine.aops('local', 'down')).code).toBe(0);
    expect((await machine.aops('local', 'up')).code).toBe(0);
    expect((await machine.json<Status>('local', 'status')).url).toBe(url);
    expect((await machine.aops('runs', 'respond', run, '--approve')).code).toBe(0);
    const { code, stdout } = await watcher.finished;
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/went on\n(.*\n)?completed after \S+\n$/) });
    expect((await machine.aops('local', 'down')).code).toBe(0);

    // On another port if another process uses the first one, and if requested.
    const otherServer = createServer().listen(Number(new URL(url).port), '127.0.0.1');
    await once(otherServer, 'listening');
    expect((await machine.aops('local', 'up')).code).toBe(0);
    otherServer.close();
    const otherStatus = await machine.json<Status>('local', 'status');
    expect(otherStatus.url).not.toBe(url);
    expect(otherStatus.running).toBe(true);
    expect((await machine.aops('local', 'up', '--port', '0')).code).toBe(0);
    expect((await machine.aops('local', 'down')).code).toBe(0);
  });

  it('store no data with --ephemeral', async () => {
    const machine = await Machine.create();
    expect((await machine.aops('local', 'up', '--ephemeral')).code).toBe(0);
    const { data_dir } = await machine.json<Status>('local', 'status');
    expect(existsSync(data_dir)).toBe(true);
    expect((await machine.aops('local', 'down')).code).toBe(0);
    expect(existsSync(data_dir)).toBe(false);
    expect(await readdir(path.join(machine.folder, 'tmp'))).toEqual([]);
  });

  it('follow the log until Ctrl-C', async () => {
    const machine = await Machine.create();
    expect((await machine.aops('local', 'up', '--ephemeral')).code).toBe(0);
    const logs = machine.start('aops', ['local', 'logs', '-f']);
    await logs.says('service started');
    logs.child.kill('SIGINT');
    expect(await logs.finished).toMatchObject({ code: 130, stderr: '' });
    expect((await machine.aops('local', 'down')).code).toBe(0);
  });
});

describe.concurrent('the service does not start because of', () => {
  it('a port in use, and leaves nothing behind', async () => {
    const port = await takenPort();
    const machine = await Machine.create();
    const refusal = await machine.aops('local', 'up', '--port', String(port));
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(`error: Port ${port} on 127.0.0.1 is in use.\nhint: Choose another port with --port`);
    const json = await machine.aops('local', 'up', '--ephemeral', '--port', String(port), '--json');
    expect(json).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'port_in_use', exit: 2 } });
    expect(await readdir(path.join(machine.folder, 'tmp'))).toEqual([]);
    expect(await machine.json<Status>('local', 'status')).toMatchObject({ running: false });
    expect((await machine.aops('profiles', 'list', '-o', 'id')).stdout).toBe('');
  });

  it('a data directory that another process owns', async () => {
    const owner = await Machine.create();
    expect((await owner.aops('local', 'up')).code).toBe(0);
    const { data_dir, pid } = await owner.json<Status>('local', 'status');
    const otherMachine = await Machine.create();
    for (const argv of [
      ['local', 'up', '--data-dir', data_dir],
      ['serve', '--data-dir', data_dir],
    ]) {
      const refusal = await otherMachine.aops(...argv, '--json');
      expect(refusal).toMatchObject({ code: 6, stdout: '' });
      const { error } = JSON.parse(refusal.stderr) as { error: { message: string } };
      expect(error).toMatchObject({ code: 'data_directory_in_use', exit: 6 });
      expect(error.message).toContain(`process ${pid}`);
    }
    expect(await owner.json<Status>('local', 'status')).toMatchObject({ running: true, pid });
    expect((await owner.aops('agents', 'list')).code).toBe(0);
  });

  it('another start at the same time: there is one service, and both commands report where it is', async () => {
    const machine = await Machine.create();
    const ups = await Promise.all([machine.aops('local', 'up'), machine.aops('local', 'up')]);
    for (const { code } of ups) expect(code).toBe(0);
    expect(ups[0]?.stdout).toBe(ups[1]?.stdout);
    expect((await machine.aops('agents', 'list')).code).toBe(0);
    expect((await machine.aops('local', 'down')).code).toBe(0);
    expect(await machine.json<Status>('local', 'status')).toMatchObject({ running: false });
  });

  it('removes files that a run has made read-only, such as module caches', async () => {
    const machine = await Machine.create();
    // No file is read-only for root.
    const as: { uid?: number; gid?: number } = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    await chown(machine.folder, as);
    const aops = (...argv: string[]) => runAs(machine, as, argv);
    const listSandboxes = () => readdir(path.join(machine.folder, 'data/local/sandboxes')).catch(() => []);
    await aops('local', 'up', '--exec', 'host');
    await machine.file('cache.yaml', 'version: 1\nsteps:\n  - exec: { run: "mkdir -p mod/a && touch mod/a/f && chmod -R a-w mod" }\n');
    await aops('agents', 'create', 'cache', '--procedure', 'cache.yaml');
    const run = async () => {
      const id = (await aops('runs', 'start', '--agent', 'cache', '-o', 'id')).trim();
      await aops('runs', 'wait', id);
    };
    await run();
    expect(await listSandboxes()).toHaveLength(1);
    await aops('local', 'down');
    await aops('local', 'up', '--exec', 'host', '--keep-sandboxes', '0');
    await eventually('its files are gone', async () => (await listSandboxes()).length === 0);
    expect(await machine.read('data/local/service.log')).not.toContain('cannot be removed');
    await run();
    if (as.uid !== undefined) {
      // Files of another user remain, but do not prevent the removal of the others.
      const [storedFolder = ''] = await listSandboxes();
      await run();
      const place = (name: string) => path.join(machine.folder, 'data/local/sandboxes', name, 'workspace/mod/a');
      await lchown(place(storedFolder), 0, 0);
      await aops('local', 'down');
      await aops('local', 'up', '--exec', 'host', '--keep-sandboxes', '0');
      const isLeft = async () => (await listSandboxes()).every((name) => name.startsWith(storedFolder) && name.endsWith('.removed'));
      await eventually('the others are gone', isLeft);
      await eventually('that is told', async () => (await machine.read('data/local/service.log')).includes('cannot be removed'));
      for (const name of await listSandboxes()) await lchown(place(name), as.uid, as.uid);
    }
    await aops('local', 'reset', '--yes');
    expect(await readdir(path.join(machine.folder, 'data'))).not.toContain('local');
  });
});

/** Runs `aops` as another user. */
function runAs({ folder, env }: Machine, as: { uid?: number; gid?: number }, argv: readonly string[]): Promise<string> {
  const options = { cwd: folder, env, ...as };
  return new Promise((resolve, reject) =>
    execFile(...commandLine(...argv), options, (error, stdout) => (error === null ? resolve(stdout) : reject(error))),
  );
}

/** Changes the owner of a folder and its contents. */
async function chown(folder: string, { uid, gid }: { uid?: number; gid?: number }): Promise<void> {
  if (uid === undefined || gid === undefined) return;
  for (const name of ['', ...(await readdir(folder, { recursive: true }))]) await lchown(path.join(folder, name), uid, gid);
}

itNeeding(needsSmallDisk, 'the service does not start because of a full disk, to which it cannot log that', async () => {
  const machine = await Machine.create();
  const disk = await smallDisk(1024 * 1024);
  const data = path.join(disk.folder, 'data');
  await mkdir(data, { mode: 0o700 });
  // Nothing more fits into its last block.
  await writeFile(path.join(data, 'service.log'), Buffer.alloc(4_096, '\n'));
  await disk.fill();
  const up = await machine.aops('local', 'up', '--data-dir', data, '--json');
  expect(up).toMatchObject({ code: 1, stdout: '' });
  expect(JSON.parse(up.stderr)).toMatchObject({
    error: {
      code: 'disk_full',
      message: `There is no space left on the disk to write ${data}.`,
      hint: expect.stringContaining('Free some space'),
    },
  });
  expect((await readdir(data)).filter((name) => name.startsWith('.up'))).toEqual([]);
  await disk.free();
  expect(await machine.aops('local', 'up', '--data-dir', data)).toMatchObject({ code: 0 });
});
