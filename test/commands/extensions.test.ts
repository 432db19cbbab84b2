/** Extensions: programs called aops-NAME on PATH. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type CliOptions, type CliResult, runCli } from '../support/run-cli.ts';
import { folderEnv } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

let env: Record<string, string>;
let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  env = folderEnv(folder);
  await mkdir(path.join(folder, 'bin'));
  env.PATH = `relative:${path.join(folder, 'bin')}:/usr/bin:/bin:${path.join(folder, 'missing')}`;
});
const cli = (argv: readonly string[], options: CliOptions = {}): Promise<CliResult> =>
  runCli(argv, { cwd: folder, ...options, env: { ...env, ...options.env } });

async function program(name: string, script: string, directory = 'bin'): Promise<string> {
  const file = path.join(folder, directory, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, script);
  await chmod(file, 0o755);
  return file;
}

describe('an extension', () => {
  it('gets the remaining arguments, standard input, and decides the exit code', async () => {
    await program('aops-greet', '#!/bin/sh\nprintf "[%s]" "$@"; cat; echo problem >&2; exit 42\n');
    expect(await cli(['greet', 'a b', '--json', '--', '-x'], { stdin: 'in' })).toMatchObject({
      code: 42,
      stdout: '[a b][--json][--][-x]in',
      stderr: 'problem\n',
    });
  });

  it('gets the profile and the flags before its name as variables, and no credential', async () => {
    await program('aops-vars', '#!/bin/sh\necho "$AOPS_EXTENSION|$AOPS_BIN|$AOPS_PROFILE|$AOPS_TEAM_ID|$AOPS_BASE_URL|$AOPS_API_KEY"\n');
    await mkdir(env.AOPS_CONFIG_DIR as string);
    const profiles = { acme: { base_url: 'https://acme.example', team_id: 't' } };
    await writeFile(path.join(env.AOPS_CONFIG_DIR as string, 'config.json'), JSON.stringify({ current_profile: 'acme', profiles }), {
      mode: 0o600,
    });
    const token = { acme: { type: 'token', token: 'aops_local_secret', origin: 'https://acme.example' } };
    await writeFile(path.join(env.AOPS_CONFIG_DIR as string, 'credentials.json'), JSON.stringify(token), { mode: 0o600 });
    expect((await cli(['vars'])).stdout).toBe('vars|aops|acme|||\n');
    expect((await cli(['--team', 'x', '--base-url=https://b.example', 'vars'])).stdout).toBe('vars|aops|acme|x|https://b.example|\n');
    expect(await cli(['--jq', '.', 'vars'])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('aops vars --jq') });
  });

  it('ends with 128 and the number of the signal that ended it', async () => {
    await program('aops-die', '#!/bin/sh\nkill -TERM $$\n');
    expect(await cli(['die'])).toMatchObject({ code: 143, stdout: '', stderr: '' });
  });

  it('receives SIGTERM, and outlives Ctrl-C if it wants to', async () => {
    await program('aops-wait', '#!/bin/sh\ntrap "echo ended; exit 3" TERM\necho ready\nwhile :; do read line || sleep 0.01; done\n');
    const result = await cli(['wait'], {
      onStart: (interrupt, deliver) => {
        Object.assign(signals, { interrupt, deliver });
      },
      onOutput: (stdout) => {
        if (stdout !== 'ready\n') return;
        signals.interrupt?.();
        signals.deliver?.('SIGTERM');
      },
    });
    expect(result).toMatchObject({ code: 3, stdout: 'ready\nended\n' });
  });

  it('never replaces a command or an alias, and is not taken from a relative folder', async () => {
    await program('aops-runs', '#!/bin/sh\necho wrong\n');
    await program('aops-mine', '#!/bin/sh\necho program\n');
    await program('aops-here', '#!/bin/sh\necho wrong\n', 'relative');
    expect((await cli(['runs', '--help'])).stdout).toContain('Usage: aops runs');
    expect((await cli(['mine'])).stdout).toBe('program\n');
    await cli(['alias', 'set', 'mine', '!echo alias']);
    expect((await cli(['mine'])).stdout).toBe('alias\n');
    expect(await cli(['here'])).toMatchObject({ code: 2, stderr: expect.stringContaining('Unknown command "here"') });
    const list = (await cli(['extensions', 'list', '--template', '{{ name }}:{{ hidden_by }}'])).stdout;
    expect(list).toBe('mine:alias\nruns:command\n');
  });

  it('that cannot be started is an error that says why', async () => {
    const file = await program('aops-broken', '#!/nonexistent/interpreter\n');
    const refusal = await cli(['broken']);
    expect(refusal).toMatchObject({ code: 1, stdout: '' });
    expect(refusal.stderr).toContain('error: aops-broken could not be started (ENOENT).');
    expect(refusal.stderr).toContain(file);
  });

  it('must be a program with a usual name', async () => {
    await writeFile(path.join(folder, 'bin', 'aops-text'), '#!/bin/sh\n');
    await mkdir(path.join(folder, 'bin', 'aops-folder'));
    await program('aops-../x', '#!/bin/sh\n').catch(() => undefined);
    for (const word of ['text', 'folder', '../x']) expect(await cli([word])).toMatchObject({ code: 2, stdout: '' });
    expect((await cli(['extensions', 'list', '-o', 'id'])).stdout).toBe('');
  });
});

const signals: { interrupt?: () => void; deliver?: (signal: 'SIGTERM') => void } = {};

describe('help, suggestions and completion', () => {
  it('know extensions', async () => {
    const file = await program('aops-deploy', '#!/bin/sh\necho "help: $1"\n');
    expect((await cli(['--help'])).stdout).toContain(`Extensions:\n  deploy  ${file}\n`);
    expect((await cli(['help', 'deploy'])).stdout).toBe('help: --help\n');
    expect((await cli(['deply'])).stderr).toContain('Did you mean `aops deploy`?');
    expect((await cli(['__complete', '--', 'dep'])).stdout).toBe('deploy\textension aops-deploy\n');
    expect((await cli(['__complete', '--', 'deploy', ''])).stdout).toBe(':files\n');
    expect((await cli(['alias', 'set', 'd', 'deploy --now'])).code).toBe(0);
    expect((await cli(['d'])).stdout).toBe('help: --now\n');
  });
});
