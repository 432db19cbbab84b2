import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExecOptions } from '../../../src/service/sandbox/exec.ts';
import { hostLauncher, type LaunchRequest } from '../../../src/service/sandbox/launch.ts';
import type { Sandbox } from '../../../src/service/sandbox/sandbox.ts';
import { SandboxStore } from '../../../src/service/sandbox/sandbox-store.ts';
import { runPromptly } from '../../support/promptly.ts';
import { itNeeding, needsLinux } from '../../support/requirements.ts';

let root: string;
let sandbox: Sandbox;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'aops-exec-'));
  sandbox = await new SandboxStore(root).create('s1');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const run = (command: string, options: Partial<ExecOptions> = {}) =>
  sandbox.exec(command, {
    launcher: hostLauncher,
    timeoutMs: 10_000,
    outputLimit: 10_000,
    signal: new AbortController().signal,
    ...options,
  });

/** Whether a process is running. One that has ended but was not collected yet (state Z) is not. */
async function isAlive(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const state = await run(`ps -o stat= -p ${pid} || true`);
  return state.stdout.trim() !== '' && !state.stdout.trim().startsWith('Z');
}

async function expectGone(pid: number): Promise<void> {
  for (let attempt = 0; attempt < 20 && (await isAlive(pid)); attempt++);
  expect(await isAlive(pid)).toBe(false);
}

describe('exec', () => {
  it('returns exit code, stdout, and stderr', async () => {
    const result = await run('echo out; echo err >&2; exit 3');
    expect(result).toMatchObject({ exitCode: 3, signal: null, stdout: 'out\n', stderr: 'err\n', timedOut: false, truncated: false });
    expect(result.durationMs).toBeGreaterThanOrEqual(0);
  });

  it('runs in the workspace, with nothing on stdin', async () => {
    await sandbox.write('a.txt', Buffer.from('hello'));
    expect((await run('cat a.txt; cat; pwd')).stdout).toBe(`hello${sandbox.directory}\n`);
  });

  it('passes a scrubbed environment', async () => {
    process.env.AOPS_TEST_SECRET = 'do not pass on';
    try {
      const { stdout } = await run('env');
      const names = stdout.split('\n').map((line) => line.split('=')[0]);
      // The shell itself sets PWD, and some shells SHLVL, OLDPWD and _.
      const ownNames = names.filter((name) => name && !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name));
      expect(ownNames.sort()).toEqual(['AOPS_PROGRAM_ID', 'HOME', 'LANG', 'PATH', 'TMPDIR']);
      expect(stdout).toContain(`HOME=${sandbox.directory}\n`);
    } finally {
      delete process.env.AOPS_TEST_SECRET;
    }
  });

  it('finds commands where the service was told to look for them, otherwise where systems keep them', async () => {
    const custom = await new SandboxStore(root, { path: '/usr/bin:/bin:/opt/tools' }).create('s2');
    const options = { launcher: hostLauncher, timeoutMs: 10_000, outputLimit: 10_000, signal: new AbortController().signal };
    expect((await custom.exec('echo "$PATH"', options)).stdout).toBe('/usr/bin:/bin:/opt/tools\n');
    expect((await run('echo "$PATH"')).stdout).toBe('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n');
  });

  it('has a TMPDIR that exists and is not listed', async () => {
    expect((await run('echo x > "$TMPDIR/t" && cat "$TMPDIR/t"')).stdout).toBe('x\n');
    expect(await sandbox.list('')).toEqual([]);
  });

  it('cuts long output at a whole character and lets the command continue', async () => {
    const result = await run('printf "aé%.0s" 1 2 3 4; yes | head -c 300000; echo done > done.txt', { outputLimit: 5 });
    expect(result).toMatchObject({ stdout: 'aéa', truncated: true, exitCode: 0 });
    expect((await sandbox.stat('done.txt')).size).toBe(5);
  });

  it('decodes characters that arrive in two pieces', async () => {
    expect((await run("printf '\\303'; sleep 0.05; printf '\\251'")).stdout).toBe('é');
  });

  // Enough time for a shell to produce its first output, even on a loaded machine.
  const startedAt = 1_500;

  it('terminates a command at the time limit', async () => {
    const result = await runPromptly(() => run('echo before; sleep 30', { timeoutMs: startedAt }), startedAt + 1_000);
    expect(result).toMatchObject({ timedOut: true, exitCode: null, signal: 'SIGTERM', stdout: 'before\n' });
  });

  it('terminates a command that ignores SIGTERM, and its children', async () => {
    const result = await runPromptly(
      () => run(`trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $!; while :; do sleep 1; done`, { timeoutMs: startedAt }),
      startedAt + 1_000,
    );
    expect(result).toMatchObject({ timedOut: true, signal: 'SIGKILL' });
    await expectGone(Number(result.stdout));
  });

  it('gives the children of a shell that ends immediately time to clean up', async () => {
    const result = await run(`sh -c 'trap "sleep 0.1; echo cleaned > cleaned.txt; exit" TERM; while :; do sleep 0.02; done' & wait`, {
      timeoutMs: startedAt,
    });
    expect(result.timedOut).toBe(true);
    expect((await sandbox.stat('cleaned.txt')).size).toBe(8);
  });

  it('kills processes that the shell leaves in the background', async () => {
    const result = await runPromptly(() => run('sleep 30 & echo $!'), 1_000);
    expect(result.exitCode).toBe(0);
    await expectGone(Number(result.stdout));
  });

  itNeeding(needsLinux, 'kills daemons in sessions of their own, and what those have started', async () => {
    const daemon = `setsid sh -c 'setsid sleep 30 & echo $! $$ > pids; wait' >/dev/null 2>&1 </dev/null &`;
    const result = await runPromptly(() => run(`${daemon} while [ ! -s pids ]; do sleep 0.01; done; cat pids`), 1_000);
    const pids = result.stdout.trim().split(' ').map(Number);
    expect(pids).toHaveLength(2);
    for (const pid of pids) await expectGone(pid);
  });

  itNeeding(needsLinux, 'leaves daemons of other commands running', async () => {
    const other = run(`setsid sh -c 'echo $$ > other; sleep 30' & while [ ! -e end ]; do sleep 0.01; done`);
    while (!(await sandbox.read('other', 20).catch(() => undefined))?.bytes.length);
    const pid = Number((await sandbox.read('other', 20)).bytes.toString());
    await run('true');
    expect(await isAlive(pid)).toBe(true);
    await sandbox.write('end', Buffer.from(''));
    await other;
    await expectGone(pid);
  });

  it('rejects with the reason when aborted, before or while it runs', async () => {
    const controller = new AbortController();
    const reason = new Error('stopped');
    const running = run('echo $$ > pid; while :; do sleep 1; done', { signal: controller.signal });
    while (!(await sandbox.read('pid', 20).catch(() => undefined))?.bytes.length);
    const pid = Number((await sandbox.read('pid', 20)).bytes.toString());
    controller.abort(reason);
    await expect(running).rejects.toBe(reason);
    await expectGone(pid);
    const launcher = {
      ...hostLauncher,
      prepare: () => {
        throw new Error('A command that was aborted before is started.');
      },
    };
    await expect(run('true', { signal: controller.signal, launcher })).rejects.toBe(reason);
  });

  it('refuses commands that cannot be passed to a shell', async () => {
    await expect(run('echo \0')).rejects.toMatchObject({ status: 400, error: 'invalid_command' });
    await expect(run(`: ${'x'.repeat(3_000_000)}`)).rejects.toMatchObject({ status: 400, error: 'invalid_command' });
  });
});

it('a program without containment does not get the address of a service with TLS, whose certificate it does not know', async () => {
  const endpointOf = async (url: string) => {
    const [directory, home, temporary] = [root, root, root];
    const request: LaunchRequest = {
      program: 'true',
      args: [],
      environment: {},
      directory,
      home,
      temporary,
      endpoint: { url },
    };
    return (await hostLauncher.prepare(request)).endpoint?.url;
  };
  expect(await endpointOf('http://127.0.0.1:1/mcp')).toBe('http://127.0.0.1:1/mcp');
  expect(await endpointOf('https://127.0.0.1:1/mcp')).toBeUndefined();
});
