import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readConfig, replaceConfig } from '../../../src/commands/mcp/install/files.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { temporaryDirectory } from '../../support/temporary.ts';

let service: TestService;
/** A profile, as after `aops auth login`. */
const profile = { AOPS_API_KEY: '', AOPS_TEAM_ID: '' };
beforeAll(async () => {
  service = await startTestService();
  await service.file('token.txt', service.service.token);
  const login = await service.cli(
    ['auth', 'login', '--profile', 'prod', '--base-url', service.service.url, '--team', service.service.teamId],
    {
      stdin: service.service.token,
      env: { ...profile, AOPS_BASE_URL: '' },
    },
  );
  expect(login).toMatchObject({ code: 0 });
});

const install = (argv: string[], options: { tty?: boolean; env?: Record<string, string> } = {}) =>
  service.cli(['mcp', 'install', ...argv], { ...options, env: { ...profile, AOPS_PROFILE: 'prod', ...options.env } });
const home = (file: string) => path.join(service.folder, 'home', file);

describe('mcp install', () => {
  it('passes on the files that connecting requires', async () => {
    const config = async (flags: string[], env: Record<string, string>) => {
      const result = await service.cli(['mcp', 'config', ...flags, '--json'], { env: { ...profile, AOPS_PROFILE: 'prod', ...env } });
      return result.json<{ mcpServers: { aops: { env: object } } }>().mcpServers.aops.env;
    };
    expect(await config(['--ca-file', 'ca.pem'], { AOPS_CLIENT_CERT: '/c.pem', AOPS_CLIENT_KEY: '/k.pem' })).toMatchObject({
      AOPS_CA_FILE: path.join(service.folder, 'ca.pem'),
      AOPS_CLIENT_CERT: '/c.pem',
      AOPS_CLIENT_KEY: '/k.pem',
    });
    // A stored setting applies to the client too.
    await service.file('stored/config.json', JSON.stringify({ settings: { ca_file: '/stored.pem' } }));
    expect(Object.keys(await config([], { AOPS_CONFIG_DIR: path.join(service.folder, 'stored'), AOPS_PROFILE: '' }))).not.toContain(
      'AOPS_CA_FILE',
    );
  });

  it('shows the change, needs --yes without a terminal, and stores a copy of the file', async () => {
    const before = '{\n  // mine\n  "servers": {\n    "x": { "command": "x", "env": { "PW": "open-sesame-1" } }\n  }\n}\n';
    await service.file('home/.config/Code/User/mcp.json', before);
    const file = home('.config/Code/User/mcp.json');
    const refusal = await install(['--client', 'vscode', '--no-absolute']);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain('+    "aops": {');
    expect(refusal.stderr).toContain(`This needs confirmation, and there is no interactive terminal: Change ${file}?`);
    expect(refusal.stderr).not.toContain('open-sesame');
    expect(readFileSync(file, 'utf8')).toBe(before);

    const plan = await install(['--client', 'vscode', '--no-absolute', '--dry-run', '--json']);
    expect(plan.json()).toEqual({ client: 'vscode', file, changed: false, backup: null });
    expect(plan.stderr).toContain('+    "aops": {');
    expect(readdirSync(path.dirname(file))).toEqual(['mcp.json']);

    const result = await install(['--client', 'vscode', '--no-absolute', '--read-only', '--yes', '--json']);
    expect(result.code).toBe(0);
    const { backup } = result.json<{ backup: string }>();
    expect(result.json()).toEqual({ client: 'vscode', file, changed: true, backup });
    expect(readFileSync(backup, 'utf8')).toBe(before);
    const after = readFileSync(file, 'utf8');
    expect(after).toContain('// mine');
    const { aops } = (JSON.parse(after.replace('// mine', '')) as { servers: Record<string, unknown> }).servers;
    const folders = Object.fromEntries(Object.entries(service.env).filter(([name]) => /_DIR$/.test(name)));
    expect(aops).toEqual({ type: 'stdio', command: 'aops', args: ['mcp', 'serve', '--profile', 'prod', '--read-only'], env: folders });
    expect(after).not.toContain(service.service.token);

    const again = await install(['--client', 'vscode', '--no-absolute', '--read-only', '--yes', '--json']);
    expect(again).toMatchObject({ code: 0, stderr: 'VS Code already has this server.\n' });
    expect(again.json()).toMatchObject({ changed: false, backup: null });
    expect(readFileSync(file, 'utf8')).toBe(after);

    const removal = await install(['--client', 'vscode', '--uninstall', '--yes']);
    expect(removal.code).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8').replace('// mine', ''))).toEqual(JSON.parse(before.replace('// mine', '')));
    expect(await install(['--client', 'vscode', '--uninstall'])).toMatchObject({ code: 0, stderr: 'VS Code has no server "aops".\n' });
  });

  it.each([
    ['claude-code', '.claude.json', 'mcpServers'],
    ['claude-desktop', '.config/Claude/claude_desktop_config.json', 'mcpServers'],
    ['cursor', '.cursor/mcp.json', 'mcpServers'],
    ['gemini', '.gemini/settings.json', 'mcpServers'],
    ['opencode', '.config/opencode/opencode.json', 'mcp'],
    ['windsurf', '.codeium/windsurf/mcp_config.json', 'mcpServers'],
  ])('creates the file of %s, which only the user can read', async (client, name, member) => {
    const result = await install(['--client', client, '--yes', '--json']);
    expect(result.json()).toMatchObject({ file: home(name), changed: true, backup: null });
    expect(statSync(home(name)).mode & 0o777).toBe(0o600);
    const document = JSON.parse(readFileSync(home(name), 'utf8')) as Record<string, Record<string, object>>;
    expect(Object.keys(document)).toEqual([member]);
    expect(JSON.stringify(document[member]?.aops)).toContain('"mcp","serve","--profile","prod"');
    expect((await install(['--client', client, '--uninstall', '--yes', '--json'])).json()).toMatchObject({ changed: true });
  });

  it('writes TOML for Codex, through a symbolic link, and keeps the mode of the file', async () => {
    const target = await service.file('dotfiles/config.toml', 'model = "o9" # fast\n');
    await service.file('home/.codex/other', '');
    symlinkSync(target, home('.codex/config.toml'));
    expect((await install(['--client', 'codex', '--name', 'ops', '--yes'])).code).toBe(0);
    expect(lstatSync(home('.codex/config.toml')).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toMatch(/^model = "o9" # fast\n\n\[mcp_servers\.ops\]\ncommand = "aops"\n/);
    expect(statSync(target).mode & 0o777).toBe(statSync(path.join(service.folder, 'token.txt')).mode & 0o777);
  });

  it('keeps the byte order mark of a file, and adds none', async () => {
    const file = await service.file('marked.json', '\ufeff{}');
    expect(await install(['--client', 'cursor', '--file', file, '--yes'])).toMatchObject({ code: 0 });
    const text = readFileSync(file, 'utf8');
    expect(text.startsWith('\ufeff{')).toBe(true);
    expect(JSON.parse(text.slice(1))).toHaveProperty('mcpServers.aops');
    const plainFile = await service.file('plain.json', '{}');
    expect(await install(['--client', 'cursor', '--file', plainFile, '--yes'])).toMatchObject({ code: 0 });
    expect(readFileSync(plainFile, 'utf8').startsWith('{')).toBe(true);
  });

  it('leaves a file alone that another program changes in the meantime, or that cannot be replaced', async () => {
    const folder = await temporaryDirectory();
    const file = path.join(folder, 'config.json');
    writeFileSync(file, '{}');
    const before = readConfig(file);
    writeFileSync(file, '{"theirs":true}');
    expect(() => replaceConfig(before, '{"ours":true}', 'now')).toThrow(expect.objectContaining({ code: 'config_changed_meanwhile' }));
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['{"theirs":true}', ['config.json']]);

    const missing = readConfig(path.join(folder, 'other.json'));
    writeFileSync(missing.path, '{"theirs":true}');
    expect(() => replaceConfig(missing, '{"ours":true}', 'now')).toThrow(expect.objectContaining({ code: 'config_changed_meanwhile' }));
    expect(readFileSync(missing.path, 'utf8')).toBe('{"theirs":true}');

    // A copy of this moment exists already.
    writeFileSync(`${file}.now.bak`, 'earlier');
    expect(() => replaceConfig(readConfig(file), '{"ours":true}', 'now')).toThrow(/config\.json/);
    expect(readFileSync(file, 'utf8')).toBe('{"theirs":true}');
    expect(readFileSync(`${file}.now.bak`, 'utf8')).toBe('earlier');
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'config.json.now.bak', 'other.json']);
  });

  it('changes the file of a project', async () => {
    expect((await install(['--client', 'claude-code', '--project', '--yes'])).code).toBe(0);
    expect(JSON.parse(readFileSync(path.join(service.folder, '.mcp.json'), 'utf8'))).toHaveProperty('mcpServers.aops.type', 'stdio');
  });

  it.each([
    ['an unknown client', ['--client', 'cursed'], {}, 2, 'Did you mean cursor?'],
    ['a client without projects', ['--client', 'windsurf', '--project'], {}, 2, 'Windsurf has no configuration for projects.'],
    ['two locations', ['--client', 'cursor', '--project', '--file', 'x'], {}, 2, '--file and --project cannot be combined.'],
    ['an invalid name', ['--client', 'cursor', '--name', 'a b'], {}, 2, '--name must be 1 to 64 letters'],
    [
      'no profile',
      ['--client', 'cursor'],
      { AOPS_PROFILE: '', AOPS_API_KEY: 'x', AOPS_CONFIG_DIR: '/nonexistent' },
      2,
      'No profile is selected',
    ],
    ['a file that is not JSON', ['--client', 'cursor', '--file', 'broken.json', '--yes'], {}, 2, 'is not valid JSON'],
    ['another server of this name', ['--client', 'cursor', '--file', 'taken.json', '--yes'], {}, 6, 'another server with the name "aops"'],
  ])('rejects %s', async (_, argv, env, code, message) => {
    await service.file('broken.json', '{"mcpServers": {');
    await service.file('taken.json', '{"mcpServers": {"aops": {"command": "rm"}}}');
    const refusal = await install(argv, { env: env as Record<string, string> });
    expect(refusal).toMatchObject({ code, stdout: '' });
    expect(refusal.stderr).toContain(message);
    expect(readFileSync(path.join(service.folder, 'broken.json'), 'utf8')).toBe('{"mcpServers": {');
  });
});

describe('mcp serve', () => {
  const serve = (argv: string[], ...messages: object[]) =>
    service.cli(['mcp', 'serve', ...argv], { stdin: messages.map((message) => `${JSON.stringify(message)}\n`).join('') });
  const call = (id: number, name: string, args: object = {}) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  type Reply = {
    id: number;
    result?: { tools?: { name: string }[]; isError?: boolean; content?: { text: string }[] };
    error?: { message: string };
  };
  const byId = (result: { lines: <T>() => T[] }) => new Map(result.lines<Reply>().map((reply) => [reply.id, reply]));

  it('with --read-only lists and calls only tools that change nothing', async () => {
    const agent = await service.agent('- say: hi');
    const runs = await service.countRuns();
    const request = { jsonrpc: '2.0', id: 4, method: 'tasks/create' };
    const result = await serve(['--read-only'], list, call(2, 'start_run', { agent_id: agent }), call(3, 'list_agents'), request);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const replies = byId(result);
    const names = replies.get(1)?.result?.tools?.map(({ name }) => name);
    expect(names).toContain('list_runs');
    for (const name of ['start_run', 'stop_run', 'send_message', 'create_case', 'respond_to_human_request'])
      expect(names).not.toContain(name);
    expect(replies.get(2)?.result).toEqual({
      content: [{ type: 'text', text: 'The tool "start_run" is not available: this server was started with --read-only.' }],
      isError: true,
    });
    expect(replies.get(3)?.result?.isError).toBeUndefined();
    expect(replies.get(4)?.error?.message).toBe('tasks/create is not available: this server was started with --read-only.');
    expect(await service.countRuns()).toEqual(runs);
  });

  it('with --allow offers only the named tools', async () => {
    const replies = byId(await serve(['--allow', 'list_*,get_run', '--allow', 'start_run'], list, call(2, 'stop_run')));
    const names = replies
      .get(1)
      ?.result?.tools?.map(({ name }) => name)
      .sort();
    expect(names).toEqual([
      'get_run',
      'list_agents',
      'list_cases',
      'list_files',
      'list_human_requests',
      'list_messages',
      'list_queues',
      'list_runs',
      'start_run',
    ]);
    expect(replies.get(2)?.result?.content?.[0]?.text).toContain('this server was started with --allow');
  });

  it.each([
    ['an unknown tool', ['--allow', 'start_runs'], 'The service has no tool "start_runs".\nhint: Did you mean start_run?'],
    ['a pattern without a match', ['--allow', 'x*'], 'The service has no tool "x*".'],
    [
      'a tool that --read-only excludes',
      ['--read-only', '--allow', 'start_run'],
      '--read-only excludes start_run, which can change something.',
    ],
    ['nonsense', ['--allow', 'a b'], '--allow must be the name of a tool'],
  ])('rejects %s', async (_, argv, message) => {
    const refusal = await serve(argv, list);
    expect(refusal).toMatchObject({ code: 2, stdout: '' });
    expect(refusal.stderr).toContain(message);
  });
});
