import { beforeAll, describe, expect, it } from 'vitest';
import { misbehaving } from '../agents/installed.ts';
import { startTestService, type TestService } from '../support/service.ts';

const secret = 'sk-live-0123456789abcdef';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.file('key.txt', `${secret}\n`);
});

const check = (...argv: string[]) => service.cli(['agents', 'check', ...argv]);
const commandOf = (mode: string): string =>
  misbehaving(mode)
    .map((word) => `'${word}'`)
    .join(' ');
const create = async (name: string, mode: string, ...argv: string[]): Promise<void> =>
  void expect((await service.cli(['agents', 'create', name, '--acp-command', commandOf(mode), ...argv])).code).toBe(0);
const revisionsOf = async (name: string): Promise<number> =>
  (await service.cli(['revisions', 'list', name, '--json'])).json<{ total: number }>().total;

describe('agents check', () => {
  it('shows in 80 columns what an agent reports about itself', async () => {
    await create('fixer', 'asks-nobody');
    const argv = ['agents', 'check', 'fixer', '--color', 'never'];
    const { stdout, code } = await service.cli(argv, { tty: true, columns: 80 });
    expect(code).toBe(0);
    const lines = stdout.replaceAll(/\n {2,}/g, ' ');
    expect(lines).toMatch(/^Usable: +yes$/m);
    expect(lines).toMatch(/^Containment: +not contained/m);
    expect(lines).toMatch(/^Agent: +Misbehaving agent 1\.2\.3$/m);
    expect(lines).toMatch(/^Protocol: +version 1$/m);
    expect(lines).toMatch(/^Sign-in: +unknown; --turn tests it$/m);
    expect(lines).toMatch(/^Mode: +ask \(it offers auto, ask\)$/m);
    expect(lines).toMatch(/^Asks first: +yes, judging by its mode; --turn tests it$/m);
    expect(lines).toMatch(/^Continues sessions: +yes: resumes and loads them$/m);
    expect((await service.cli(['runs', 'list', '--json'])).json()).toMatchObject({ total: 0 });
  });

  it('prompts the agent only if --turn is passed', async () => {
    const quiet = (await check('--acp-command', commandOf('well-behaved'), '--json')).json<{ program: { turn: unknown } }>();
    expect(quiet.program.turn).toBeNull();
    const { code, stdout } = await check('--acp-command', commandOf('well-behaved'), '--turn');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Sign-in\tits model answered$/m);
    expect(stdout).toMatch(/^Asks first\tyes, tested$/m);
    expect(stdout).toMatch(/^Turn\tasked \(denied\): Write result\.txt; wrote nothing \(.+, 0\.0125 USD\)$/m);
    expect(stdout).toMatch(/^Answer\tI will write the file\. I did not write result\.txt\.$/m);
  });

  it('exits with 1 and prints the result if the agent cannot be used', async () => {
    const result = await check('--acp-command', commandOf('login-required'), '--json');
    expect(result.code).toBe(1);
    expect(JSON.parse(result.stdout)).toMatchObject({ usable: false, problem: { code: 'not_signed_in' }, program: { signed_in: false } });
    expect(JSON.parse(result.stderr)).toMatchObject({ error: { code: 'not_signed_in', exit: 1 } });
    const words = await check('--acp-command', commandOf('login-required'));
    expect(words.stdout).toMatch(/^Sign-in\tnot signed in; it offers: API key$/m);
    expect(words.stderr).toMatch(/^error: The agent is not signed in\. Store its API key with/);
  });

  it('uses the secrets of the agent, and those that are passed, which are not stored', async () => {
    await create('keyed', 'environment', '--secret', 'API_KEY=@key.txt');
    const result = await check('keyed', '--secret', 'OTHER_KEY=@key.txt', '--turn', '--jq', '.program.turn.text');
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('API_KEY');
    expect(result.stdout).toContain('OTHER_KEY');
    expect((await service.cli(['agents', 'secrets', 'list', 'keyed', '--jq', '.data[].name'])).stdout).toBe('API_KEY\n');
    expect(await revisionsOf('keyed')).toBe(1);
  });

  it('never prints a secret', async () => {
    const result = await check('--acp-command', "sh -c 'echo $API_KEY >&2; exit 1'", '--secret', 'API_KEY=@key.txt', '--debug');
    expect(result.code).toBe(1);
    expect(result.stderr).toContain('[secret API_KEY]');
    expect(result.stdout + result.stderr).not.toContain(secret);
  });

  it('tries options on an agent without changing it', async () => {
    await create('tried', 'asks-nobody');
    const result = await check('tried', '--mode', 'auto');
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/^Mode\tauto /m);
    expect(result.stdout).toMatch(/^Warnings\tIn the mode "auto", the agent decides by itself what it does, without asking\./m);
    expect((await check('tried', '--mode', 'careful')).stderr).toContain('The agent has no mode "careful"; it offers: auto, ask.');
    expect(await revisionsOf('tried')).toBe(1);
  });

  it('validates a file, with the lines of its errors', async () => {
    await service.file('good.yaml', 'version: 1\nsteps:\n  - say: Hello\n');
    await service.file('bad.yaml', 'version: 1\nsteps:\n  - sya: Hello\n');
    await service.file('agent.yaml', `version: 1\ncommand: ${JSON.stringify(misbehaving('text'))}\n`);
    await service.file('unknown.yaml', 'version: 1\nacp: claud\n');
    expect(await check('good.yaml')).toMatchObject({ code: 0, stdout: 'Usable\tyes\nRuntime\tscript\n', stderr: '' });
    const bad = await check('./bad.yaml');
    expect(bad).toMatchObject({ code: 2, stdout: '' });
    expect(bad.stderr).toContain('./bad.yaml:3:5: unknown step `sya`; did you mean `say`?');
    expect((await check('agent.yaml', '--jq', '.program.name')).stdout).toBe('Misbehaving agent\n');
    expect((await check('unknown.yaml')).stderr).toContain(
      'unknown.yaml:2:6: the registry contains no agent `claud`: did you mean claude?',
    );
    const piped = await service.cli(['agents', 'check', '-'], { stdin: 'version: 1\nsteps: [\n' });
    expect(piped.code).toBe(2);
    expect(piped.stderr).toContain('standard input:');
  });

  it.each([
    ['nothing', [], 'Nothing to check was specified.'],
    ['two programs', ['--acp', 'claude', '--acp-command', 'agent'], 'cannot be combined'],
    ['options of a program with a file', ['x.yaml', '--mode', 'ask'], '--mode cannot be combined with a file'],
    ['options without a program', ['--env', 'A=1'], 'need --acp or --acp-command'],
    ['a runtime without a file', ['--acp', 'claude', '--runtime', 'acp'], '--runtime can only be used with a file'],
    ['an unknown agent of the registry', ['--acp', 'claud'], 'did you mean claude?'],
    ['a missing file', ['no.yaml'], 'no.yaml cannot be read'],
    ['a secret as an argument', ['--acp', 'claude', '--secret', `A=${secret}`], '--secret A=@FILE'],
  ])('rejects %s', async (_, argv, message) => {
    const refusal = await check(...argv);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect(refusal.stderr).not.toContain(secret);
  });

  it('rejects options of programs for agents of another runtime', async () => {
    await service.agent('- say: hi', 'scripted');
    expect((await check('scripted')).code).toBe(0);
    expect((await check('scripted', '--mode', 'ask')).stderr).toContain('so --mode does not apply to it');
    expect((await check('nobody')).code).toBe(3);
  });
});
