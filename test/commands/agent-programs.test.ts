import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { misbehaving } from '../agents/installed.ts';
import { startTestService, type TestService } from '../support/service.ts';

const secret = 'sk-live-0123456789abcdef';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.file('key.txt', `${secret}\n`);
});

const create = (...argv: string[]) => service.cli(['agents', 'create', ...argv]);
const definitionOf = async (name: string): Promise<unknown> => {
  const text = (await service.cli(['revisions', 'get', `${name}@live`, '--json', '--jq', '.config.data'])).stdout;
  const { input, models } = JSON.parse(text) as { input: string; models: { agent: { model: string } } };
  expect(models.agent.model).toBe('acp');
  return parse(input);
};

describe('agents create with a program', () => {
  it('composes the definition and stores the secrets', async () => {
    await service.file('AGENTS.md', '# Rules\n\nUse tabs: "always".\n');
    const flags = [
      '--instructions',
      'AGENTS.md',
      '--env',
      'EMPTY=',
      '--env',
      'QUERY=a=b',
      '--allow-host',
      'api.example.com',
      '--allow-path',
      '/opt/tools',
      '--mode',
      'ask',
    ];
    const result = await create('all', '--acp', 'claude', ...flags, '--secret', 'ANTHROPIC_API_KEY=@key.txt', '--json');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).not.toContain(secret);
    expect(await definitionOf('all')).toEqual({
      version: 1,
      acp: 'claude',
      instructions: '# Rules\n\nUse tabs: "always".\n',
      mode: 'ask',
      environment: { EMPTY: '', QUERY: 'a=b' },
      secrets: ['ANTHROPIC_API_KEY'],
      network: ['api.example.com'],
      files: ['/opt/tools'],
    });
    const secrets = await service.cli(['agents', 'secrets', 'list', 'all', '--jq', '.data[].name']);
    expect(secrets.stdout).toBe('ANTHROPIC_API_KEY\n');
  });

  it('is what agents get shows, with the names of variables alone', async () => {
    const flags = [
      '--env',
      'PLAIN=hidden-value',
      '--secret',
      'API_KEY=@key.txt',
      '--allow-host',
      'api.example.com',
      '--allow-path',
      '/opt/a b',
    ];
    expect((await create('shown', '--acp-command', "node 'a \u001b[31mb'", ...flags)).code).toBe(0);
    const result = await service.cli(['agents', 'get', 'shown', '--color', 'never'], { tty: true });
    expect(result.stdout).toMatch(
      /Program: +node 'a \^\[\[31mb'\nVariables: +PLAIN\nSecrets: +API_KEY\nAllowed hosts: +api\.example\.com\nAllowed paths: +\/opt\/a b\n/,
    );
    expect(result.stdout).not.toContain('hidden-value');
    expect((await service.cli(['agents', 'get', 'shown', '--json'])).json().program).toEqual({
      ...{ acp: null, command: ['node', 'a \u001b[31mb'], mode: null, skills: [] },
      ...{ environment: ['PLAIN'], secrets: ['API_KEY'], network: ['api.example.com'], files: ['/opt/a b'] },
    });
    await service.agent('- say: hi', 'scripted');
    expect((await service.cli(['agents', 'get', 'scripted', '--json'])).json().program).toBeNull();
  });

  it('adds options to the definition in a file, which needs no --runtime', async () => {
    await service.file('agent.yaml', '# Comment\nversion: 1\nacp: claude # The usual one\nenvironment: { A: b }\n');
    await service.file('rules.md', 'Be brief.\n');
    const flags = ['--instructions', 'rules.md', '--env', 'C=d', '--secret', 'API_KEY=@key.txt', '--allow-host', 'api.example.com'];
    expect(await create('filed', '--procedure', 'agent.yaml', ...flags)).toMatchObject({ code: 0, stderr: '' });
    const text = (await service.cli(['revisions', 'get', 'filed@live', '--jq', '.config.data.input'])).stdout;
    expect(text).toContain('# Comment\nversion: 1\nacp: claude # The usual one\n');
    expect(await definitionOf('filed')).toEqual({
      ...{ version: 1, acp: 'claude', instructions: 'Be brief.\n', environment: { A: 'b', C: 'd' } },
      ...{ secrets: ['API_KEY'], network: ['api.example.com'] },
    });
    expect((await service.cli(['agents', 'secrets', 'list', 'filed', '--jq', '.data[].name'])).stdout).toBe('API_KEY\n');
    await service.file('broken.yaml', 'version: 1\nacp: claud\n');
    const refusal = await create('broken', '--procedure', 'broken.yaml', '--instructions', 'rules.md');
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('broken.yaml:2:6: ');
  });

  it('splits the command into words', async () => {
    expect((await create('words', '--acp-command', `node '/a b/agent.js' --name="x \\"y\\"" \\$HOME '$HOME'`)).code).toBe(0);
    expect(await definitionOf('words')).toEqual({
      version: 1,
      command: ['node', '/a b/agent.js', '--name=x "y"', '$HOME', '$HOME'],
    });
  });

  it('runs the agent with its environment, and explains a program that is not installed', async () => {
    const command = misbehaving('environment')
      .map((word) => `'${word}'`)
      .join(' ');
    await create('reporter', '--acp-command', command, '--env', 'PLAIN=1', '--secret', 'API_KEY=@key.txt');
    const success = await service.cli(['runs', 'start', '--agent', 'reporter', '--message', 'Report.', '--watch']);
    expect(success).toMatchObject({ code: 0 });
    expect(success.stdout).toContain('"PLAIN"');
    expect(success.stdout).toContain('"API_KEY"');
    expect(success.stdout + success.stderr).not.toContain(secret);
    expect((await create('absent', '--acp', 'goose')).code).toBe(0);
    const failure = await service.cli(['runs', 'start', '--agent', 'absent', '--message', 'Hello', '--watch']);
    expect(failure.code).not.toBe(0);
    expect(failure.stderr).toContain('is not installed');
  });

  it('sends nothing in a dry run, which shows no secret', async () => {
    const result = await create('dry', '--acp', 'claude', '--secret', 'ANTHROPIC_API_KEY=@key.txt', '--dry-run');
    expect(result.code).toBe(0);
    expect(result.stdout).toContain('acp: claude');
    expect(result.stdout + result.stderr).not.toContain(secret);
    expect((await service.cli(['agents', 'get', 'dry'])).code).toBe(3);
  });

  it.each([
    ['two programs', ['--acp', 'claude', '--acp-command', 'agent'], 'cannot be combined'],
    ['a procedure as well', ['--acp', 'claude', '--procedure', 'key.txt'], '--procedure'],
    ['options without a program', ['--env', 'A=1'], '--acp or --acp-command'],
    ['an unknown agent', ['--acp', 'claud'], 'did you mean claude?'],
    ['a secret as an argument', ['--acp', 'claude', '--secret', `API_KEY=${secret}`], '--secret API_KEY=@FILE'],
    ['a variable without a value', ['--acp', 'claude', '--env', 'HOME'], 'NAME=VALUE'],
    ['an invalid variable', ['--acp', 'claude', '--env', 'A-B=1'], 'environment variable'],
    ['a variable twice', ['--acp', 'claude', '--env', 'A=1', '--env', 'A=2'], 'appears twice'],
    ['a variable that is also a secret', ['--acp', 'claude', '--env', 'A=1', '--secret', 'A=@key.txt'], 'both --env and --secret'],
    ['an empty command', ['--acp-command', ' '], 'is empty'],
    ['an open quote', ['--acp-command', "node 'a"], "lacks a closing '"],
    ['a pipe', ['--acp-command', 'agent | tee log'], 'only a shell understands'],
    ['an expansion', ['--acp-command', 'agent $HOME'], 'only a shell expands'],
    ['a backslash at the end', ['--acp-command', 'agent \\'], 'ends with a backslash'],
    ['a relative path', ['--acp', 'claude', '--allow-path', 'tools'], '--allow-path must be an absolute path, not "tools".'],
    ['instructions that do not exist', ['--acp', 'claude', '--instructions', 'no.md'], 'no.md cannot be read'],
  ])('rejects %s', async (_, flags, message) => {
    const refusal = await create('refused', ...flags);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect(refusal.stderr).not.toContain(secret);
    expect((await service.cli(['agents', 'get', 'refused'])).code).toBe(3);
  });

  it('warns about a variable that looks like a secret', async () => {
    const result = await create('careless', '--acp', 'claude', '--env', 'GITHUB_TOKEN=x');
    expect(result.code).toBe(0);
    expect(result.stderr).toContain('Use --secret GITHUB_TOKEN=@FILE for secrets.');
  });
});
