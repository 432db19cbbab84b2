/** `aops local backup` and `aops local restore`: what they write, print, and reject. */
import { existsSync } from 'node:fs';
import { chmod, lutimes, mkdir, readdir, readFile, readlink, realpath, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeWorkFolder } from '../../../src/commands/local/work-folder.ts';
import { StoredRows } from '../../service/backup/stored-data.ts';
import { ManualClock } from '../../service/helpers/clock.ts';
import { putEmptyDatabase } from '../../support/empty-database.ts';
import { itNeeding, needsLinux } from '../../support/requirements.ts';
import { type CliOptions, type CliResult, runCli } from '../../support/run-cli.ts';
import { folderEnv, startTestService } from '../../support/service.ts';
import { temporaryDirectory, temporaryFolder } from '../../support/temporary.ts';

let env: Record<string, string>;
/** The data directory of a stopped service, with a file in the sandbox of no run. */
let stoppedDirectory: string;
/** A backup of it. */
let backup: string;
beforeAll(async () => {
  const folder = await temporaryFolder();
  env = folderEnv(folder);
  stoppedDirectory = path.join(folder, 'stopped');
  await putEmptyDatabase(stoppedDirectory);
  for (const [name, content] of Object.entries({ token: 'token', 'secrets.key': 'key' }))
    await writeFile(path.join(stoppedDirectory, name), content, { mode: 0o600 });
  backup = path.join(folder, 'backup.tar.gz');
  expect((await aops(['backup', backup, '--data-dir', stoppedDirectory])).code).toBe(0);
});

const aops = (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(['local', ...argv], { ...options, env: { ...env, NO_COLOR: '1', ...options.env } });
const errorOf = ({ code, stderr }: CliResult) => [code, (JSON.parse(stderr) as { error: { code: string } }).error.code];
const counts = { agents: 0, runs: 0, open_runs: 0, sandboxes: 0, files: 3 };

describe('local backup', () => {
  it('writes a file that only its owner can read, and leaves nothing else', async () => {
    const folder = await temporaryDirectory();
    const result = await aops(['backup', 'new.tar.gz', '--data-dir', stoppedDirectory, '--json'], { cwd: folder });
    expect([result.code, await readdir(folder)]).toEqual([0, ['new.tar.gz']]);
    const { size, mode } = await stat(path.join(folder, 'new.tar.gz'));
    expect(result.json()).toMatchObject({
      ...counts,
      file: path.join(folder, 'new.tar.gz'),
      bytes: size,
      data_dir: stoppedDirectory,
      online: false,
      format: 2,
      problems: [],
    });
    expect(mode & 0o777).toBe(0o600);
  });

  it('prints the contents of the backup', async () => {
    const folder = await temporaryDirectory();
    const { stdout, stderr } = await aops(['backup', 'new.tar.gz', '--data-dir', stoppedDirectory], { cwd: folder });
    expect(stdout).toMatch(/Contents\s+0 agents, 0 runs, 0 sandboxes with files; 3 files, \d/);
    expect(stdout).not.toContain('Problems');
    expect(stderr).toBe('');
  });

  it('keeps an existing file, unless --force is specified', async () => {
    const folder = await temporaryDirectory();
    const file = path.join(folder, 'old.tar.gz');
    await writeFile(file, 'old');
    const refusal = await aops(['backup', file, '--data-dir', stoppedDirectory, '--json']);
    expect([refusal.code, await readFile(file, 'utf8')]).toEqual([2, 'old']);
    expect((await aops(['backup', file, '--data-dir', stoppedDirectory, '--force'])).code).toBe(0);
    expect((await stat(file)).size).toBeGreaterThan(1_000);
    expect(await readdir(folder)).toEqual(['old.tar.gz']);
  });

  it('is not printed on a terminal', async () => {
    const { code, stdout, stderr } = await aops(['backup', '-', '--data-dir', stoppedDirectory], { tty: true });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('A backup cannot be printed on a terminal.');
  });

  it('rejects a target in a directory that does not exist, and directories without data', async () => {
    const folder = await temporaryDirectory();
    const refusal = await aops(['backup', path.join(folder, 'none/new.tar.gz'), '--data-dir', stoppedDirectory, '--json']);
    expect(errorOf(refusal)[0]).toBe(2);
    const emptyResult = await aops(['backup', path.join(folder, 'new.tar.gz'), '--data-dir', folder, '--json']);
    expect(errorOf(emptyResult)).toEqual([3, 'no_data']);
    expect(await readdir(folder)).toEqual([]);
  });

  it('warns of the first five entries that it could not copy exactly, and lists all of them with --json', async () => {
    const data = path.join(await temporaryDirectory(), 'data');
    await putEmptyDatabase(data);
    const rows = new StoredRows(data);
    for (const id of ['a', 'b', 'c', 'd']) rows.runFile(id, 'r', '');
    const problems = ['secrets.key', 'token', 'files/r/a', 'files/r/b', 'files/r/c', 'files/r/d'];
    const file = path.join(path.dirname(data), 'new.tar.gz');
    const printResult = await aops(['backup', file, '--data-dir', data]);
    expect(printResult.stderr.match(/[\w./]+(?=: it no longer exists)/g)).toEqual(problems.slice(0, 5));
    expect(printResult.stdout).toMatch(/Problems\s+6 entries not copied exactly/);
    const listResult = await aops(['backup', file, '--data-dir', data, '--force', '--json']);
    expect(listResult.json<{ problems: { path: string }[] }>().problems.map((problem) => problem.path)).toEqual(problems);
  });

  it('copies the data of a running service, and lets it continue', async () => {
    const service = await startTestService();
    await service.run('- say: hi');
    const { url, teamId, instanceId } = service.service;
    const state = { url, team_id: teamId, instance_id: instanceId, data_dir: service.dataDirectory, pid: process.pid };
    await writeFile(path.join(service.dataDirectory, 'service.json'), JSON.stringify(state));
    const folder = await temporaryDirectory();
    const file = path.join(folder, 'new.tar.gz');
    const writeResult = await aops(['backup', file, '--data-dir', service.dataDirectory, '--json']);
    expect([writeResult.code, writeResult.json()]).toEqual([0, expect.objectContaining({ online: true, agents: 1, runs: 1 })]);
    // The hold has been released, so that the next backup can begin.
    expect((await aops(['backup', file, '--data-dir', service.dataDirectory, '--force'])).code).toBe(0);
    const refusal = await aops(['restore', file, '--data-dir', service.dataDirectory, '--json']);
    expect(errorOf(refusal)).toEqual([6, 'data_directory_in_use']);
    const verifyResult = await aops(['restore', file, '--data-dir', service.dataDirectory, '--verify', '--json']);
    expect(verifyResult.json()).toMatchObject({ restored: false, data_dir: null, runs: 1 });
  });
});

describe('local restore', () => {
  it.each(['a file', 'stdin'])('restores a backup from %s', async (source) => {
    const directory = path.join(await temporaryDirectory(), 'data');
    const isFile = source === 'a file';
    const options = isFile ? {} : { stdin: await readFile(backup) };
    const result = await aops(['restore', isFile ? backup : '-', '--data-dir', directory, '--json'], options);
    expect([result.code, result.json()]).toEqual([
      0,
      expect.objectContaining({ ...counts, file: isFile ? backup : '-', restored: true, data_dir: directory }),
    ]);
    expect((await readdir(directory)).sort()).toEqual(['aops.db', 'secrets.key', 'token']);
    expect(await readFile(path.join(directory, 'token'), 'utf8')).toBe('token');
  });

  it('prints what it has restored, or that the backup is valid', async () => {
    const directory = path.join(await temporaryDirectory(), 'data');
    const verifyResult = await aops(['restore', path.basename(backup), '--verify', '--data-dir', directory], { cwd: path.dirname(backup) });
    expect(verifyResult.stdout).toMatch(/Restored\s+no; the backup is valid/);
    expect(existsSync(directory)).toBe(false);
    const restoreResult = await aops(['restore', backup, '--data-dir', 'data'], { cwd: path.dirname(directory) });
    expect(restoreResult.stdout).toMatch(/Restored\s+into .*\/data\n/);
    expect(restoreResult.stdout).toMatch(/File\s+.*backup\.tar\.gz/);
    expect(existsSync(directory)).toBe(true);
    const pipedResult = await aops(['restore', '-', '--verify'], { stdin: await readFile(backup) });
    expect(pipedResult.stdout).not.toContain('File');
  });

  it('rejects directories, missing files, and other files', async () => {
    const folder = await temporaryDirectory();
    await writeFile(path.join(folder, 'other'), 'hello');
    const directory = path.join(folder, 'data');
    const tryRestore = async (file: string) => aops(['restore', file, '--data-dir', directory, '--json'], { cwd: folder });
    expect((await tryRestore('.')).stderr).toContain(`${folder} is a directory.`);
    expect(errorOf(await tryRestore('missing'))).toEqual([2, 'file_not_readable']);
    expect(errorOf(await tryRestore('other'))).toEqual([1, 'backup_damaged']);
    expect((await readdir(folder)).sort()).toEqual(['other']);
  });

  it('rejects a data directory that is not empty', async () => {
    expect(errorOf(await aops(['restore', backup, '--data-dir', stoppedDirectory, '--json']))).toEqual([6, 'data_directory_not_empty']);
  });

  itNeeding(needsLinux, 'does not leave the backup open when it rejects the data directory', async () => {
    await aops(['restore', backup, '--data-dir', stoppedDirectory, '--json']);
    const targets = (await readdir('/proc/self/fd')).map((name) => readlink(`/proc/self/fd/${name}`).catch(() => ''));
    expect(await Promise.all(targets)).not.toContain(await realpath(backup));
  });
});

describe('the temporary folder of a backup', () => {
  const minutes = 60_000;

  /** Creates a folder as a backup that was killed leaves it. */
  async function leaveFolder(parent: string, name: string, { mode = 0o700, file = true } = {}): Promise<string> {
    const folder = path.join(parent, name);
    await mkdir(folder);
    if (file) await writeFile(path.join(folder, 'aops.db'), 'copy');
    await chmod(folder, mode);
    return folder;
  }

  /** Which of the entries of a folder remain when another backup is written 20 minutes later. */
  async function remaining(parent: string): Promise<string[]> {
    const ownFolder = await makeWorkFolder(parent, new ManualClock(Date.now() + 20 * minutes));
    expect(existsSync(ownFolder.path)).toBe(true);
    await ownFolder.end();
    expect(existsSync(ownFolder.path)).toBe(false);
    return (await readdir(parent)).sort();
  }

  it('is removed by a later backup if it was abandoned', async () => {
    const parent = await temporaryDirectory();
    await leaveFolder(parent, '.aops-backup-killed');
    await leaveFolder(parent, '.aops-backup-empty', { file: false });
    expect(await remaining(parent)).toEqual([]);
  });

  it('stays if it is in use, if others can change it, or if it is not one', async () => {
    const parent = await temporaryDirectory();
    const nearFuture = new Date(Date.now() + 15 * minutes);
    const busyFolder = await leaveFolder(parent, '.aops-backup-busy');
    await utimes(path.join(busyFolder, 'aops.db'), nearFuture, nearFuture);
    await utimes(await leaveFolder(parent, '.aops-backup-new'), nearFuture, nearFuture);
    await leaveFolder(parent, '.aops-backup-group', { mode: 0o770 });
    await leaveFolder(parent, '.aops-backup-world', { mode: 0o702 });
    await leaveFolder(parent, 'aops-backup-other');
    await writeFile(path.join(parent, '.aops-backup-file'), '');
    const otherDirectory = await temporaryDirectory();
    await symlink(otherDirectory, path.join(parent, '.aops-backup-link'));
    await lutimes(path.join(parent, '.aops-backup-link'), new Date(0), new Date(0));
    expect(await remaining(parent)).toEqual(
      ['busy', 'file', 'group', 'link', 'new', 'world']
        .map((name) => `.aops-backup-${name}`)
        .concat('aops-backup-other')
        .sort(),
    );
    expect(existsSync(otherDirectory)).toBe(true);
  });

  it('cannot be created in a directory that does not exist, or in a file', async () => {
    const parent = await temporaryDirectory();
    const file = path.join(parent, 'file');
    await writeFile(file, '');
    for (const place of [path.join(parent, 'none'), file, path.join(file, 'inner')])
      await expect(makeWorkFolder(place, new ManualClock())).rejects.toMatchObject({
        code: 'directory_not_found',
        exit: 2,
        message: `There is no directory ${place}.`,
      });
    await rm(file);
    expect(await readdir(parent)).toEqual([]);
  });
});
