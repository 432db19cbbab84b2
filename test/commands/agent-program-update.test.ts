import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { misbehaving } from '../agents/installed.ts';
import { startTestService, type TestService } from '../support/service.ts';

const secret = 'sk-live-0123456789abcdef';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.file('key.txt', `${secret}\n`);
  await service.file('AGENTS.md', 'Use tabs.\nRun the tests.\n');
});

const update = (...argv: string[]) => service.cli(['agents', 'update', ...argv]);
const create = async (name: string, ...argv: string[]): Promise<void> =>
  void expect((await service.cli(['agents', 'create', name, ...argv])).code).toBe(0);
const textOf = async (name: string): Promise<string> =>
  (await service.cli(['revisions', 'get', `${name}@live`, '--json', '--jq', '.config.data.input'])).stdout;
const definitionOf = async (name: string): Promise<unknown> => parse(await textOf(name));
const revisionsOf = async (name: string): Promise<{ revision_number: number; name: string }[]> =>
  (await service.cli(['revisions', 'list', name, '--json'])).json<{ data: { revision_number: number; name: string }[] }>().data;
const secretsOf = async (name: string): Promise<string> =>
  (await service.cli(['agents', 'secrets', 'list', name, '--jq', '.data[].name'])).stdout;

describe('agents update of a program', () => {
  it('replaces only the parts that the options name', async () => {
    await create('fixer', '--acp', 'claude', '--env', 'LEVEL=info', '--mode', 'default', '--allow-host', 'a.example.com');
    const flags = ['--instructions', 'AGENTS.md', '--env', 'LEVEL=debug', '--env', 'COLOUR=no', '--allow-host', 'b.example.com'];
    const result = await update('fixer', ...flags, '--secret', 'ANTHROPIC_API_KEY=@key.txt', '--json');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).not.toContain(secret);
    expect(await definitionOf('fixer')).toEqual({
      version: 1,
      acp: 'claude',
      mode: 'default',
      instructions: 'Use tabs.\nRun the tests.\n',
      environment: { LEVEL: 'debug', COLOUR: 'no' },
      secrets: ['ANTHROPIC_API_KEY'],
      network: ['a.example.com', 'b.example.com'],
    });
    expect(await secretsOf('fixer')).toBe('ANTHROPIC_API_KEY\n');
    expect((await revisionsOf('fixer'))[0]).toMatchObject({
      revision_number: 2,
      name: 'With --instructions, --env, --secret, --allow-host',
    });
  });

  it('keeps the comments and the layout of the other parts', async () => {
    const text = `# The agent of the night shift\nversion: 1\nacp: claude # or codex\nenvironment: { A: "1" }\ninstructions: |\n  A long line ${'of words '.repeat(20)}\n\n  # A heading\n`;
    await service.file('agent.yaml', text);
    await create('commented', '--procedure', 'agent.yaml', '--runtime', 'acp');
    expect((await update('commented', '--acp', 'codex', '--env', 'B=2')).code).toBe(0);
    expect(await textOf('commented')).toBe(`${text.replace('acp: claude', 'acp: codex').replace('{ A: "1" }', '{ A: "1", B: "2" }')}\n`);
  });

  it('replaces a program by another, whose mode is not that of the first', async () => {
    await create('changing', '--acp', 'claude', '--mode', 'plan');
    const result = await update('changing', '--acp-command', "node 'a b.js' --acp");
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('The mode plan of the previous program no longer applies.');
    expect(await definitionOf('changing')).toEqual({ version: 1, command: ['node', 'a b.js', '--acp'] });
    expect((await update('changing', '--acp', 'gemini', '--mode', 'yolo', '--quiet')).stderr).toBe('');
    expect(await definitionOf('changing')).toEqual({ version: 1, acp: 'gemini', mode: 'yolo' });
    expect((await update('changing', '--acp', 'gemini')).stderr).toBe('');
    expect(await definitionOf('changing')).toEqual({ version: 1, acp: 'gemini', mode: 'yolo' });
  });

  it('turns a variable into a secret, and back', async () => {
    await create('moving', '--acp', 'claude', '--env', 'API_KEY=visible');
    expect((await update('moving', '--secret', 'API_KEY=@key.txt')).code).toBe(0);
    expect(await definitionOf('moving')).toEqual({ version: 1, acp: 'claude', secrets: ['API_KEY'] });
    expect((await update('moving', '--env', 'API_KEY=visible')).code).toBe(0);
    expect(await definitionOf('moving')).toEqual({ version: 1, acp: 'claude', environment: { API_KEY: 'visible' } });
  });

  it('creates no revision if only the value of a secret is new', async () => {
    await create('rotated', '--acp', 'claude', '--secret', 'API_KEY=@key.txt');
    expect((await update('rotated', '--secret', 'API_KEY=@key.txt', '--mode', 'default')).code).toBe(0);
    expect((await update('rotated', '--secret', 'API_KEY=@key.txt')).code).toBe(0);
    expect(await revisionsOf('rotated')).toHaveLength(2);
  });

  it('adds the program to an agent without a procedure', async () => {
    await create('empty');
    const refusal = await update('empty', '--env', 'A=1');
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('empty has no live revision whose program --env could change.');
    const command = misbehaving('text')
      .map((word) => `'${word}'`)
      .join(' ');
    expect((await update('empty', '--acp-command', command, '--env', 'A=1')).code).toBe(0);
    const run = await service.cli(['runs', 'start', '--agent', 'empty', '--message', 'Hello', '--watch']);
    expect(run).toMatchObject({ code: 0 });
    expect(run.stdout).toContain('You wrote: Hello');
  });

  it('rejects an agent of another runtime, and says what to do', async () => {
    await service.agent('- say: hi', 'scripted');
    const refusal = await update('scripted', '--mode', 'default', '--secret', 'A');
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('scripted is executed by the runtime script, so --secret and --mode do not apply to it.');
    expect(refusal.stderr).toContain('aops agents update scripted --procedure FILE');
    const program = await update('scripted', '--acp', 'claude');
    expect(program.code).toBe(2);
    expect(program.stderr).toContain('aops agents create NAME --acp claude');
    expect(await revisionsOf('scripted')).toHaveLength(1);
  });

  it.each([
    ['two programs', ['--acp', 'codex', '--acp-command', 'agent'], 'cannot be combined'],
    ['a procedure as well', ['--mode', 'ask', '--procedure', 'AGENTS.md'], '--mode cannot be combined with --procedure'],
    ['an unknown agent', ['--acp', 'codx'], 'did you mean codex?'],
    ['a variable that is also a secret', ['--env', 'A=1', '--secret', 'A=@key.txt'], 'both --env and --secret'],
    ['instructions that do not exist', ['--instructions', 'no.md'], 'no.md cannot be read'],
    ['a secret in a file that does not exist', ['--secret', 'A=@no.txt'], 'no.txt cannot be read'],
  ])('rejects %s, and changes nothing', async (_, flags, message) => {
    const name = `refused ${flags.join(' ')}`;
    await create(name, '--acp', 'claude');
    const refusal = await update(name, ...flags);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect(await revisionsOf(name)).toHaveLength(1);
  });

  it('refuses to change a definition in which a part stands for another', async () => {
    await service.file('alias.yaml', 'version: 1\nacp: claude\nsecrets: &names [A]\nnetwork: *names\n');
    await create('aliased', '--procedure', 'alias.yaml', '--runtime', 'acp');
    const refusal = await update('aliased', '--allow-host', 'example.com');
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('written in a way that these options cannot change');
    expect(await revisionsOf('aliased')).toHaveLength(1);
  });
});
