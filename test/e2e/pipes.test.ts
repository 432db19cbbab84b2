/** The same without a person and a terminal: answers from a file, exit codes for scripts, pipes that close early. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/watch/events.ts';
import { Machine, project } from '../support/machine.ts';
import { describeNeeding, needsPosix } from '../support/requirements.ts';

const example = path.join(project, 'examples/invoice-check');

let machine: Machine;
beforeAll(async () => {
  machine = await Machine.create();
  expect(await machine.aops('local', 'up', '--exec', 'host', '--ephemeral')).toMatchObject({
    code: 0,
    stderr: 'The local service is running.\n',
  });
});

const start = (agent: string, ...flags: string[]) => machine.aops('runs', 'start', '--agent', agent, '--watch', ...flags);

describe('the main scenario without a terminal', () => {
  it('ends with a local report and exit code 0', async () => {
    await machine.json('agents', 'create', 'invoice-check', '--procedure', path.join(example, 'procedure.yaml'));
    const files = ['--upload', path.join(example, 'invoices.csv'), '--answers', path.join(example, 'answers.yaml'), '--pull', 'out'];
    const { code, stdout, stderr } = await start('invoice-check', ...files);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toContain('Good morning! I am invoice-check.');
    expect(stdout).toContain('› Which vendor is "ACME"? Acme GmbH');
    expect(stdout).toContain('Paid. Enjoy the chairs!');
    expect(stdout).toMatch(/\ncompleted after \S+\n$/);
    expect(stderr).toMatch(/Pulled \d files to out\n$/);
    expect(stdout + stderr).not.toContain('\u001b');
    expect(await machine.read('out/report.md')).toContain('The furniture goes to: Product, Operations.');
  });

  it('prints a stream of events with -o ndjson', async () => {
    await machine.agent('short', '- say: one\n- say: two');
    const { code, stdout, stderr } = await start('short', '-o', 'ndjson');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as RunEvent);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ v: 1, type: 'run.finished', data: { run: { status: 'completed' } } });
  });
});

describe('the exit code is', () => {
  it('10 for a run that failed', async () => {
    await machine.agent('failing', '- fail: "no luck"');
    const { code, stderr } = await start('failing');
    expect(code).toBe(10);
    expect(stderr).toMatch(/error: Run \S+ failed: no luck\n/);
    for (const verb of ['watch', 'wait']) expect((await machine.aops('runs', verb, '@latest')).code).toBe(10);
  });

  it('11 for a run that was interrupted', async () => {
    await machine.agent('endless', '- say: started\n- sleep: 1h');
    const watcher = machine.start('aops', ['runs', 'start', '--agent', 'endless', '--watch']);
    await watcher.says('started');
    expect((await machine.aops('runs', 'stop', '@latest')).code).toBe(0);
    const { code, stderr } = await watcher.finished;
    expect(code).toBe(11);
    expect(stderr).toMatch(/error: Run \S+ was interrupted\./);
    for (const verb of ['watch', 'wait']) expect((await machine.aops('runs', verb, '@latest')).code).toBe(11);
  });

  it('12 for a run that waits, with the command that answers it', async () => {
    await machine.agent('asking', '- approve: { id: pay, title: "Pay 3 invoices?" }\n- say: paid');
    const { code, stdout, stderr } = await start('asking');
    expect(code).toBe(12);
    expect(stdout).toContain('? Pay 3 invoices?\n');
    const [, respond = ''] = /`aops (runs respond [^`]+)`/.exec(stderr) ?? [];
    expect(respond).toMatch(/^runs respond [0-9a-f-]{36} --approve$/);
    expect((await machine.run('sh', ['-c', `aops ${respond}`])).code).toBe(0);
    const [, watch = ''] = /`aops (runs watch [^`]+)`/.exec(stderr) ?? [];
    const repeatFinished = await machine.run('sh', ['-c', `aops ${watch}`]);
    expect(repeatFinished).toMatchObject({ code: 0, stderr: '' });
    expect(repeatFinished.stdout).toContain('paid\n');
  });

  it('130 for Ctrl-C', async () => {
    const watcher = machine.start('aops', ['runs', 'start', '--agent', 'endless', '--watch']);
    await watcher.says('started');
    watcher.child.kill('SIGINT');
    const { code, stderr } = await watcher.finished;
    expect(code).toBe(130);
    expect(stderr).toMatch(/Come back with: aops runs watch [0-9a-f-]{36}\n$/);
  });
});

describe('a reader that closes the pipe', () => {
  const head = (command: string) => machine.run('bash', ['-c', `${command} | head -1; echo "exit \${PIPESTATUS[0]}"`]);

  it('ends a short output silently', async () => {
    const { code, stdout, stderr } = await head('aops commands -o yaml');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^data:\nexit 0\n$/);
  });

  it('ends a long output silently', async () => {
    await machine.agent('big', '- exec: { run: "yes aops | head -c 8000000 > big.txt" }');
    expect((await start('big', '--quiet')).code).toBe(0);
    const { stdout, stderr } = await head('aops sandbox cat @latest big.txt');
    expect({ stdout, stderr }).toEqual({ stdout: 'aops\nexit 0\n', stderr: '' });
  });

  it('ends watching silently', async () => {
    const { stdout, stderr } = await head('aops runs watch @latest -o ndjson');
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^\{"v":1,"seq":1,.*\}\nexit 0\n$/);
  });
});

describeNeeding(needsPosix, 'a full disk', () => {
  const runLimited = (words: string) => machine.run('sh', ['-c', `ulimit -f 0; exec aops ${words}`]);

  it('keeps no lock that would delay later commands', async () => {
    const { code, stderr } = await runLimited('config set max_wait 5m');
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('config.json') });
    expect((await readdir(machine.env.AOPS_CONFIG_DIR as string)).filter((name) => name.includes('.lock'))).toEqual([]);
  });

  it('is reported by the doctor', async () => {
    const doctorReport = JSON.parse((await runLimited('doctor --offline --json')).stdout) as { checks: { id: string }[] };
    expect(doctorReport.checks.find(({ id }) => id === 'folders')).toMatchObject({
      status: 'fail',
      hint: 'Choose a folder on another disk.',
    });
    expect((await readdir(machine.env.AOPS_CONFIG_DIR as string)).filter((name) => name.includes('doctor'))).toEqual([]);
  });

  it('is reported with the file for a secret, and the command that revokes the lost token', async () => {
    const { code, stdout, stderr } = await runLimited('local token create lost --to lost.key');
    const { id } = await machine.json<{ id: string }>('local', 'token', 'list', '--jq', '.data[] | select(.name == "lost")');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`lost.key is too large for its file system.\nhint: The secret is shown only once and is now lost.`);
    expect(stderr).toContain(`aops local token revoke ${id}`);
    expect(await readdir(machine.folder)).not.toContain('lost.key');
  });
});

describeNeeding(needsPosix, 'an output that cannot be written', () => {
  const commandLines = ['--help', 'help runs', 'runs', 'runs list --help', '--version', 'completion zsh', 'commands', 'help scripting'];
  it.each(commandLines)('is reported by aops %s', async (words) => {
    const stderr =
      'error: The output cannot be written: ENOSPC: no space left on device, write\nhint: Check the disk, or the program that reads the output.\n';
    expect(await machine.run('sh', ['-c', `aops ${words} > /dev/full`])).toMatchObject({ code: 1, stderr });
  });
});
