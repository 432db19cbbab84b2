/** Backup and restore with the real program: with a running service, with a stopped one, and interrupted. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import type { Run } from '../../src/interface/types.ts';
import { eventually } from '../support/eventually.ts';
import { commandLine, Machine, type ProcessResult } from '../support/machine.ts';
import { whenDone } from '../support/temporary.ts';
import { tlsFile } from '../support/tls.ts';

interface Backup {
  file: string;
  bytes: number;
  online: boolean;
  runs: number;
  open_runs: number;
  files: number;
  problems: unknown[];
}

async function startMachine(): Promise<Machine> {
  const machine = await Machine.create();
  expect((await machine.here('local', 'up', '--exec', 'host')).code).toBe(0);
  return machine;
}

/** A child process whose pipes the test controls: nothing is read or written unless the test does it. */
function startPipe(machine: Machine, ...argv: string[]): { child: ChildProcess; ended: Promise<ProcessResult> } {
  const child = spawn(...commandLine(...argv), { cwd: machine.folder, env: machine.env, stdio: 'pipe' });
  whenDone(async () => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // The program may end before it has read everything.
  child.stdin.on('error', () => undefined);
  const endPromise = new Promise<ProcessResult>((resolve) => child.once('exit', (code) => resolve({ code, stdout: '', stderr })));
  return { child, ended: endPromise };
}

/** A run that waits for a person, with more data in its workspace than a pipe can hold. */
async function waitingRun(machine: Machine): Promise<string> {
  await machine.agent(
    'asking',
    '- exec: { run: "echo one >> steps.log" }\n- approve: { id: pay, title: "Pay?" }\n- exec: { run: "echo two >> steps.log" }',
  );
  const largeText = path.join(machine.folder, 'large.bin');
  await writeFile(largeText, randomBytes(3_000_000));
  const run = await machine.startRun('asking', '--upload', largeText);
  await machine.hereJson('runs', 'wait', run, '--for', 'waiting');
  return run;
}

const partsIn = async (folder: string): Promise<string[]> => (await readdir(folder)).filter((name) => name.startsWith('.aops-'));

describe.concurrent('aops local backup and restore', () => {
  it('with a running service: a run in progress continues after the restore as if nothing had happened', async () => {
    const machine = await startMachine();
    const run = await waitingRun(machine);
    const backup = await machine.json<Backup>('local', 'backup', 'b.tar.gz');
    expect(backup).toMatchObject({ file: path.join(machine.folder, 'b.tar.gz'), online: true, runs: 1, open_runs: 1, problems: [] });
    expect((await stat(backup.file)).mode & 0o777).toBe(0o600);
    expect((await stat(backup.file)).size).toBe(backup.bytes);
    expect(await partsIn(machine.folder)).toEqual([]);
    // Later changes are not in the backup.
    expect((await machine.here('runs', 'respond', run, '--deny')).code).toBe(0);

    const backupResult = await machine.aops('local', 'backup', 'b.tar.gz');
    expect(backupResult).toMatchObject({ code: 2, stdout: '' });
    expect(backupResult.stderr).toContain('--force');
    await writeFile(path.join(machine.folder, 'open'), '', { mode: 0o644 });
    expect((await machine.aops('local', 'backup', 'open', '--force')).code).toBe(0);
    expect((await stat(path.join(machine.folder, 'open'))).mode & 0o777).toBe(0o600);

    const busyResult = await machine.aops('local', 'restore', 'b.tar.gz');
    expect(busyResult).toMatchObject({ code: 6, stdout: '' });
    expect(busyResult.stderr).toContain('A service is running on');
    expect((await machine.here('local', 'down')).code).toBe(0);
    const fullResult = await machine.aops('local', 'restore', 'b.tar.gz');
    expect(fullResult).toMatchObject({ code: 6, stdout: '' });
    expect(fullResult.stderr).toContain('is not empty');

    // Another machine, with only the backup.
    const otherMachine = await Machine.create();
    const verification = await otherMachine.json('local', 'restore', '--verify', backup.file);
    expect(verification).toMatchObject({ restored: false, data_dir: null, runs: 1, open_runs: 1, files: backup.files });
    expect(existsSync(path.join(otherMachine.folder, 'data/local'))).toBe(false);
    expect(await otherMachine.aops('local', 'restore', backup.file)).toMatchObject({ code: 0, stderr: '' });
    expect((await otherMachine.here('local', 'up', '--exec', 'host')).code).toBe(0);
    const { id } = (await otherMachine.json<{ data: Run[] }>('runs', 'list', '--status', 'waiting')).data[0] as Run;
    expect(id).toBe(run);
    expect((await otherMachine.here('runs', 'respond', run, '--approve')).code).toBe(0);
    expect((await otherMachine.here('runs', 'wait', run)).code).toBe(0);
    expect((await otherMachine.here('sandbox', 'cat', run, 'steps.log')).stdout).toBe('one\ntwo\n');
    // The token is the same, so clients keep their access.
    const tokenOf = (owner: Machine) => owner.read('data/local/token');
    expect(await tokenOf(otherMachine)).toBe(await tokenOf(machine));
  });

  it('with a stopped service: a backup can be piped into a restore', async () => {
    const machine = await startMachine();
    await machine.agent('kept', '- say: hi');
    const run = await machine.startRun('kept');
    expect((await machine.here('runs', 'wait', run)).code).toBe(0);
    const pid = (await machine.servicePid()) as number;
    // As after a power cut: part of the data is in the log next to the database.
    process.kill(pid, 'SIGKILL');
    await eventually('the service has ended', async () => !(await machine.hereJson<{ running: boolean }>('local', 'status')).running);
    const moveResult = await machine.run('sh', ['-c', 'aops local backup - | aops local restore - --data-dir moved']);
    expect(moveResult).toMatchObject({ code: 0 });
    expect(moveResult.stderr).toContain('1 run,');
    expect((await machine.here('local', 'up', '--exec', 'host', '--data-dir', 'moved')).code).toBe(0);
    expect(await machine.getRun(run)).toMatchObject({ status: 'completed' });
    const emptyResult = await machine.aops('local', 'backup', 'x.tar.gz', '--data-dir', 'nothing');
    expect(emptyResult).toMatchObject({ code: 3, stdout: '' });
  });

  it('with a service that uses TLS: any certificate works, even after it was replaced', async () => {
    const machine = await Machine.create();
    const use = async (name: string): Promise<void> => {
      await copyFile(tlsFile(`${name}.pem`), path.join(machine.folder, 'cert.pem'));
      await copyFile(tlsFile(`${name}-key.pem`), path.join(machine.folder, 'key.pem'));
    };
    await use('wrong-name');
    const tls = ['--tls-cert', 'cert.pem', '--tls-key', 'key.pem'];
    const { child } = machine.start('aops', [
      'serve',
      '--host',
      '0.0.0.0',
      '--public-url',
      'https://a.example',
      ...tls,
      '--data-dir',
      'own',
    ]);
    const readServiceFile = () => machine.read('own/service.json').catch(() => '');
    await eventually('the service listens', async () => (await readServiceFile()).includes('certificate'));
    expect(await machine.json('local', 'backup', 'one.tar.gz', '--data-dir', 'own')).toMatchObject({ online: true, runs: 0 });
    const before = await readServiceFile();
    await use('self-signed');
    child.kill('SIGHUP');
    await eventually('the certificate is replaced', async () => (await readServiceFile()) !== before);
    expect(await machine.json('local', 'backup', 'two.tar.gz', '--data-dir', 'own')).toMatchObject({ online: true });
  });

  it('can be interrupted with Ctrl-C: nothing is left behind or held', async () => {
    const machine = await startMachine();
    await waitingRun(machine);
    const { child, ended } = startPipe(machine, 'local', 'backup', '-');
    // The output is not read, so the backup stops in the middle.
    const temporaryPath = path.join(machine.folder, 'tmp');
    await eventually('the database was copied', async () => (await partsIn(temporaryPath)).length > 0);
    const second = await machine.aops('local', 'backup', 'second.tar.gz');
    expect(second).toMatchObject({ code: 6, stdout: '' });
    expect(second.stderr).toContain('already being backed up');
    child.kill('SIGINT');
    child.stdout?.resume();
    expect(await ended).toMatchObject({ code: 130 });
    expect(await partsIn(temporaryPath)).toEqual([]);
    expect((await machine.aops('local', 'backup', 'second.tar.gz')).code).toBe(0);
  });

  it('fails if the service ends in the middle', async () => {
    const machine = await startMachine();
    await waitingRun(machine);
    const { url } = await machine.hereJson<{ url: string }>('local', 'status');
    const { child, ended } = startPipe(machine, 'local', 'backup', '-');
    // The first output follows the copy of the database; the rest waits until somebody reads it.
    await new Promise<void>((resolve) => child.stdout?.once('readable', resolve));
    // Otherwise the hold could be renewed while no service listens, which is a different error.
    child.kill('SIGSTOP');
    expect((await machine.here('local', 'down')).code).toBe(0);
    expect((await machine.here('local', 'up', '--exec', 'host', '--port', new URL(url).port)).code).toBe(0);
    child.kill('SIGCONT');
    child.stdout?.resume();
    const { code, stderr } = await ended;
    expect(stderr).toContain('The backup was not completed: the service was restarted before everything was copied.');
    expect(code).toBe(8);
  });

  it('leaves nothing behind when the disk is full', async () => {
    const machine = await startMachine();
    await waitingRun(machine);
    // The system rejects larger files, like a full disk.
    const runLimited = (command: string) => machine.run('sh', ['-c', `ulimit -f 2000; exec ${command}`]);
    const backup = await runLimited('aops local backup b.tar.gz');
    expect(backup).toMatchObject({ code: 1, stdout: '' });
    expect(backup.stderr).toContain('b.tar.gz is too large');
    expect(existsSync(path.join(machine.folder, 'b.tar.gz'))).toBe(false);
    expect(await partsIn(machine.folder)).toEqual([]);
    expect((await machine.here('local', 'backup', 'b.tar.gz')).code).toBe(0);
    const restore = await runLimited('aops local restore b.tar.gz --data-dir new');
    expect(restore).toMatchObject({ code: 1, stdout: '' });
    expect(restore.stderr).toContain('is too large');
    expect(existsSync(path.join(machine.folder, 'new'))).toBe(false);
  });

  it('removes the remains of a killed backup, but not those of one in progress', async () => {
    const machine = await startMachine();
    await waitingRun(machine);
    const temporaryPath = path.join(machine.folder, 'tmp');
    const { child, ended } = startPipe(machine, 'local', 'backup', '-');
    await eventually('the database was copied', async () => (await partsIn(temporaryPath)).length > 0);
    child.kill('SIGKILL');
    await ended;
    const [leftover = ''] = await partsIn(temporaryPath);
    await mkdir(path.join(machine.folder, 'to'));
    await cp(path.join(temporaryPath, leftover), path.join(machine.folder, 'to', leftover), { recursive: true });
    // The service would release its data after half a minute. This backup needs no service.
    expect((await machine.here('local', 'down')).code).toBe(0);
    expect(await machine.aops('local', 'backup', 'to/one.tar.gz')).toMatchObject({ code: 0 });
    expect((await readdir(path.join(machine.folder, 'to'))).sort()).toEqual([leftover, 'one.tar.gz']);
    const old = new Date(Date.now() - 3_600_000);
    for (const name of [...(await readdir(path.join(machine.folder, 'to', leftover))), '.'])
      await utimes(path.join(machine.folder, 'to', leftover, name), old, old);
    expect(await machine.aops('local', 'backup', 'to/two.tar.gz')).toMatchObject({ code: 0 });
    expect((await readdir(path.join(machine.folder, 'to'))).sort()).toEqual(['one.tar.gz', 'two.tar.gz']);
  });

  it('can be restored after a restore was killed in the middle', async () => {
    const machine = await startMachine();
    await waitingRun(machine);
    expect((await machine.here('local', 'backup', 'b.tar.gz')).code).toBe(0);
    const bytes = await readFile(path.join(machine.folder, 'b.tar.gz'));
    const backUpHalfway = async () => {
      const { child, ended } = startPipe(machine, 'local', 'restore', '-', '--data-dir', 'new');
      child.stdin?.write(bytes.subarray(0, bytes.length / 2));
      await eventually('some of it is unpacked', () => existsSync(path.join(machine.folder, 'new/restoring/unpacked/sandboxes')));
      return { child, ended };
    };
    const stoppedBackup = await backUpHalfway();
    stoppedBackup.child.kill('SIGINT');
    expect(await stoppedBackup.ended).toMatchObject({ code: 130 });
    expect(existsSync(path.join(machine.folder, 'new'))).toBe(false);

    const cutBackup = await backUpHalfway();
    cutBackup.child.stdin?.end();
    expect(await cutBackup.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('it ends too early') });
    expect(existsSync(path.join(machine.folder, 'new'))).toBe(false);

    const killedBackup = await backUpHalfway();
    killedBackup.child.kill('SIGKILL');
    await killedBackup.ended;
    // An incomplete data directory cannot be used.
    const refusal = await machine.aops('serve', '--data-dir', 'new');
    expect(refusal).toMatchObject({ code: 6 });
    expect(refusal.stderr).toContain('was not finished');
    expect((await machine.aops('local', 'restore', 'b.tar.gz', '--data-dir', 'new')).code).toBe(0);
    expect((await readdir(path.join(machine.folder, 'new'))).sort()).toEqual(['aops.db', 'sandboxes', 'secrets.key', 'token']);
  });
});
