/** The completion scripts in real shells. */
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { Machine, needsScript } from '../support/machine.ts';
import { describeNeeding, itNeeding, needsProgram } from '../support/requirements.ts';
import { runCli } from '../support/run-cli.ts';
import { keys } from '../support/screen.ts';

const needsShell = (shell: string) => needsProgram(shell, ['-c', 'exit 0']);

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  await machine.file('answers.yaml', '');
  await machine.file('a folder.txt', '');
});

itNeeding(needsScript, 'completes flags and their values, and prints its script, with none of the code of the program', async () => {
  const loadedBy = async (...argv: string[]): Promise<string[]> => {
    machine.env.NODE_DEBUG = 'module';
    const result = await machine.aops(...argv);
    delete machine.env.NODE_DEBUG;
    expect(result.stdout).toBe((await runCli(argv, { env: machine.env })).stdout);
    return [...result.stderr.matchAll(/load "[^"]*dist\/([\w-]+?)(-[\w-]{8})?\.js" for/g)].map(([, name]) => name as string);
  };
  const always = ['main', 'rolldown-runtime', 'version'];
  const words = [...always, 'quick', 'command-words'];
  expect(await loadedBy('__complete', '--', 'agents', 'schedules', '')).toEqual(words);
  expect(await loadedBy('__complete', '--', 'runs', 'watch', '--on-request', '')).toEqual(words);
  expect(await loadedBy('completion', 'bash')).toEqual([...always, 'scripts']);
  // The user's aliases need more.
  expect(await loadedBy('__complete', '--', '')).toContain('code-cache');
});

describe('bash', () => {
  /** The completions of the last word of a line. */
  async function offers(...words: string[]): Promise<string[]> {
    const script =
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell that expands it
      'source <(aops completion bash); COMP_WORDS=("$@"); COMP_LINE="$*"; COMP_CWORD=$(($# - 1)); _aops; printf "%s\\n" "${COMPREPLY[@]}"';
    const { code, stdout, stderr } = await machine.run('bash', ['--norc', '-c', script, 'bash', 'aops', ...words]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.trimEnd().split('\n');
  }

  it('completes groups, commands, flags and values of flags', async () => {
    expect(await offers('ru')).toEqual(['runs']);
    expect(await offers('')).toEqual(expect.arrayContaining(['runs', 'agents', 'local', 'completion']));
    expect(await offers('')).not.toContain('__complete');
    expect(await offers('runs', 'st')).toEqual(['start', 'stop']);
    expect(await offers('runs', 'watch', '--on-r')).toEqual(['--on-request']);
    expect(await offers('runs', 'watch', '--on-request', '')).toEqual(['prompt', 'wait', 'fail']);
    expect(await offers('-o', '')).toEqual(['table', 'json', 'ndjson', 'yaml', 'csv', 'id']);
    expect(await offers('runs', 'watch', '@')).toEqual(['@latest']);
    expect(await offers('config', 'set', 'ou')).toEqual(['output']);
    expect(await offers('no-such-group', '')).toEqual(['']);
  });

  it('completes names and numbers that a background process has loaded', async () => {
    await machine.json('local', 'up', '--ephemeral');
    await machine.agent('greeter', '- say: hi');
    const run = await machine.startRun('greeter');
    const { run_number } = (await machine.json('runs', 'get', run)) as { run_number: number };
    expect(await offers('agents', 'get', '')).toEqual(['']);
    await eventually('agents are offered', async () => (await offers('agents', 'get', '')).join() === 'greeter');
    await eventually('runs are offered', async () => (await offers('runs', 'get', '')).includes(String(run_number)));
    await machine.agent('with space', '- say: hi');
    expect((await machine.here('__refresh', 'agents')).code).toBe(0);
    expect(await offers('agents', 'get', 'with')).toEqual(['with\\ space']);
  });

  it('completes at the prompt, even after the @ at which bash begins a new word', async () => {
    expect((await machine.here('__refresh', 'revisions')).code).toBe(0);
    await machine.file('home/.bashrc', "PS1='ready> '\nsource <(aops completion bash)\n");
    const shell = machine.screen('bash', ['-i']);
    await shell.shows('ready> ');
    shell.type('aops revisions get greeter@li', keys.tab);
    await shell.shows('greeter@live ');
    shell.type('--jq .status', keys.enter);
    await shell.shows(/\nlive\r?\n/);
    shell.type('aops runs get @la', keys.tab);
    await shell.shows('get @latest ');
    shell.type(keys.enter);
    await shell.shows('Status:');
    await shell.shows('ready> ');
    shell.type('exit', keys.enter);
    expect(await shell.exit).toBeTypeOf('number');
  });

  it('completes files for arguments that are files', async () => {
    expect(await offers('runs', 'watch', '--answers', 'an')).toEqual(['answers.yaml']);
    expect(await offers('runs', 'watch', '--answers', 'a')).toEqual(expect.arrayContaining(['answers.yaml', 'a folder.txt']));
  });
});

describeNeeding(needsShell('zsh'), 'zsh', () => {
  it('completes at the prompt', async () => {
    await machine.file('home/.zshrc', "PS1='ready> '\nautoload -Uz compinit && compinit -u -D\nsource <(aops completion zsh)\n");
    const shell = machine.screen('zsh', ['-i']);
    await shell.shows('ready> ');
    shell.type('aops loc', keys.tab);
    await shell.shows('local ');
    shell.type('sta', keys.tab);
    await shell.shows('status');
    shell.type(keys.enter);
    await shell.shows('Running:');
    await shell.shows('ready> ');
    for (const name of ['back\\slash', '[square]', 'open quote']) await machine.agent(name, '- say: hi');
    expect((await machine.here('__refresh', 'agents')).code).toBe(0);
    for (const [typedText, name] of [
      ['back', 'back\\slash'],
      ['\\[sq', '[square]'],
      ["'open", 'open quote'],
      ['open\\ q', 'open quote'],
    ] as const) {
      shell.type(`aops agents get ${typedText}`, keys.tab, '--jq .name', keys.enter);
      await shell.shows(`\n${name}`);
      await shell.shows('ready> ');
    }
    shell.type('exit', keys.enter);
    expect(await shell.exit).toBeTypeOf('number');
  });
});

describeNeeding(needsShell('fish'), 'fish', () => {
  const offers = async (line: string): Promise<string[]> => {
    const { stdout, stderr } = await machine.run('fish', ['--no-config', '-c', `aops completion fish | source; complete -C '${line}'`]);
    expect(stderr).toBe('');
    return stdout
      .trimEnd()
      .split('\n')
      .map((offer) => offer.split('\t')[0] as string);
  };

  it('completes commands and flags', async () => {
    expect(await offers('aops runs st')).toEqual(['start', 'stop']);
    expect(await offers('aops runs watch --on-request ')).toEqual(expect.arrayContaining(['prompt', 'wait', 'fail']));
    expect(await offers('aops runs watch --answers an')).toEqual(['answers.yaml']);
    expect(await offers('aops agents get gree')).toEqual(['greeter']);
    expect(await offers('aops runs list --fields agent_n')).toEqual(['agent_name']);
    await machine.agent('[fish] name', '- say: hi');
    expect((await machine.here('__refresh', 'agents')).code).toBe(0);
    expect(await offers('aops agents get \\[fi')).toEqual(['[fish] name']);
    expect(await offers('aops agents get "[fish] n')).toEqual(['[fish] name']);
  });
});

describeNeeding(needsShell('pwsh'), 'PowerShell', () => {
  it('completes commands and flags', async () => {
    const script = `aops completion powershell | Out-String | Invoke-Expression; (TabExpansion2 'aops runs st' 12).CompletionMatches.CompletionText`;
    const { stdout } = await machine.run('pwsh', ['-NoProfile', '-Command', script]);
    expect(stdout.trim().split(/\s+/)).toEqual(['start', 'stop']);
  });
});

describe('any shell', () => {
  it('gets its script, and unknown shells are rejected', async () => {
    for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
      const { code, stdout, stderr } = await machine.aops('completion', shell);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain('aops __complete');
    }
    const refusal = await machine.aops('completion', 'tcsh');
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('bash, zsh, fish, powershell');
  });
});
