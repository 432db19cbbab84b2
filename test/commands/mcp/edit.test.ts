import { describe, expect, it } from 'vitest';
import { previewChange } from '../../../src/commands/mcp/install/change-preview.ts';
import { configFile, type Machine, mcpClientIds, mcpClients } from '../../../src/commands/mcp/install/clients.ts';
import { withoutServer, withServer } from '../../../src/commands/mcp/install/edit.ts';

const json = { file: 'mcp.json', format: 'json', servers: ['mcpServers'], name: 'aops' } as const;
const toml = { file: 'config.toml', format: 'toml', servers: ['mcp_servers'], name: 'aops' } as const;
const entry = { command: 'aops', args: ['mcp', 'serve', '--profile', 'prod'] };

describe('a JSON file', () => {
  it('keeps comments, order, indentation, and line ends', () => {
    const text =
      '// mine\r\n{\r\n\t"b": 1, // one\r\n\t"mcpServers": {\r\n\t\t/* other */ "x": { "command": "y" },\r\n\t},\r\n\t"a": [1,2]\r\n}\r\n';
    const after = withServer(text, entry, json);
    for (const line of text.split('\r\n').filter((line) => line !== '')) expect(after).toContain(line.replace(/,$/, ''));
    expect(after).toMatch(/\r\n\t\t"aops": \{\r\n\t\t\t"command": "aops",\r\n/);
    expect(after.replaceAll('\r\n', '')).not.toContain('\n');
    expect(withServer(after, entry, json)).toBe(after);
    expect(withoutServer(after, json)).toBe(text);
  });

  it.each(['', ' \n', '{}', '{"mcpServers":{}}', '{"other":true}'])('is completed: %j', (text) => {
    const after = withServer(text, entry, json);
    expect(JSON.parse(after)).toEqual({ ...(text.trim() === '' ? {} : JSON.parse(text)), mcpServers: { aops: entry } });
    expect(withServer(after, entry, json)).toBe(after);
    expect(withoutServer(after, json)).not.toMatch(/\{\s+\}/);
  });

  it.each(['', '{}'])('that is new is written on several lines: %j', (text) => {
    expect(withServer(text, entry, json)).toBe(`${JSON.stringify({ mcpServers: { aops: entry } }, null, 2)}\n`);
  });

  it('on one line stays on one line', () => {
    const before = '{"mcpServers":{"x":{"command":"y"}}}\n';
    const after = withServer(before, entry, json);
    expect(after).toBe(`{"mcpServers":{"x":{"command":"y"},"aops": ${JSON.stringify(entry)}}}\n`);
    expect(withoutServer(after, json)).toBe(before);
  });

  it('keeps what somebody added to the entry, and replaces what aops sets', () => {
    const own = { ...entry, args: ['mcp', 'serve'], env: { MINE: '1', AOPS_DATA_DIR: '/old' }, disabled: true };
    const after = withServer(JSON.stringify({ mcpServers: { aops: own } }), { ...entry, env: { AOPS_CACHE_DIR: '/c' } }, json);
    expect(JSON.parse(after).mcpServers.aops).toEqual({ ...entry, env: { MINE: '1', AOPS_CACHE_DIR: '/c' }, disabled: true });
  });

  it.each([
    ['that is invalid', '{"mcpServers": ', 'config_invalid'],
    ['that is a list', '[]', 'config_invalid'],
    ['with a list of servers', '{"mcpServers": []}', 'config_invalid'],
    ['with another program of this name', '{"mcpServers": {"aops": {"command": "rm"}}}', 'server_name_taken'],
    ['in which a member appears twice', '{"mcpServers": {"a": {}}, "mcpServers": {"b": {}}}', 'config_not_changed'],
  ])('%s is refused', (_, text, code) => {
    expect(() => withServer(text, entry, json)).toThrow(expect.objectContaining({ code }));
  });
});

describe('a TOML file', () => {
  const text = [
    '# mine',
    'model = "o9" # fast',
    '',
    '[mcp_servers.other]',
    'command = "x"',
    'args = [',
    '  "a",',
    ']',
    '',
    '# about profiles',
    '[[profiles]]',
    'name = "p"',
    '',
  ].join('\n');

  it('keeps everything else, and gets a table at its end', () => {
    const after = withServer(text, { ...entry, env: { AOPS_DATA_DIR: '/d' } }, toml);
    expect(after).toBe(
      `${text}\n[mcp_servers.aops]\ncommand = "aops"\nargs = [ "mcp", "serve", "--profile", "prod" ]\n\n[mcp_servers.aops.env]\nAOPS_DATA_DIR = "/d"\n`,
    );
    expect(withServer(after, { ...entry, env: { AOPS_DATA_DIR: '/d' } }, toml)).toBe(after);
    expect(withoutServer(after, toml).trimEnd()).toBe(text.trimEnd());
  });

  it('is updated in place, with the comments and members of the table', () => {
    const own = '[mcp_servers.aops]\n# keep me\ncommand = "old"\nargs = ["mcp", "serve"]\nstartup_timeout_sec = 20\n';
    const next = '# about the screen\n[tui]\nsize = 1\n';
    expect(withServer(`${text}\n${own}\n${next}`, entry, toml)).toBe(
      `${text}\n[mcp_servers.aops]\ncommand = "aops"\nargs = [ "mcp", "serve", "--profile", "prod" ]\nstartup_timeout_sec = 20\n# keep me\n\n${next}`,
    );
    expect(withoutServer(`${text}\n${own}\n${next}`, toml)).toBe(`${text}\n\n${next}`);
  });

  it('without a header of its own for the table is refused', () => {
    const inline = 'mcp_servers = { aops = { command = "aops", args = ["mcp", "serve"] } }\n';
    expect(() => withServer(inline, entry, toml)).toThrow(expect.objectContaining({ code: 'config_not_changed' }));
    expect(() => withoutServer(inline, toml)).toThrow(expect.objectContaining({ code: 'config_not_changed' }));
    expect(() => withServer('a = [', entry, toml)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});

describe('the location of the file', () => {
  const linux: Machine = { env: {}, home: '/home/u', platform: 'linux', cwd: '/work' };
  const files = (machine: Machine) =>
    Object.fromEntries(mcpClientIds.map((id) => [id, configFile(mcpClients[id], machine, false, () => false)]));

  it('depends on the platform', () => {
    expect(files(linux)).toEqual({
      'claude-code': '/home/u/.claude.json',
      'claude-desktop': '/home/u/.config/Claude/claude_desktop_config.json',
      cursor: '/home/u/.cursor/mcp.json',
      vscode: '/home/u/.config/Code/User/mcp.json',
      codex: '/home/u/.codex/config.toml',
      gemini: '/home/u/.gemini/settings.json',
      opencode: '/home/u/.config/opencode/opencode.json',
      windsurf: '/home/u/.codeium/windsurf/mcp_config.json',
    });
    expect(files({ ...linux, platform: 'darwin' })).toMatchObject({
      'claude-desktop': '/home/u/Library/Application Support/Claude/claude_desktop_config.json',
      vscode: '/home/u/Library/Application Support/Code/User/mcp.json',
    });
    const windows = { ...linux, platform: 'win32', home: 'C:\\Users\\u', env: { APPDATA: 'C:\\Users\\u\\AppData\\Roaming' } };
    expect(files(windows)).toMatchObject({
      'claude-desktop': 'C:\\Users\\u\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
      vscode: 'C:\\Users\\u\\AppData\\Roaming\\Code\\User\\mcp.json',
      codex: 'C:\\Users\\u\\.codex\\config.toml',
    });
  });

  it('depends on variables, on the project, and on files that exist', () => {
    expect(configFile(mcpClients.codex, { ...linux, env: { CODEX_HOME: '/c' } }, false, () => false)).toBe('/c/config.toml');
    expect(configFile(mcpClients.vscode, { ...linux, env: { XDG_CONFIG_HOME: '/x' } }, false, () => false)).toBe('/x/Code/User/mcp.json');
    expect(configFile(mcpClients.cursor, linux, true, () => false)).toBe('/work/.cursor/mcp.json');
    expect(configFile(mcpClients.windsurf, linux, true, () => false)).toBeUndefined();
    expect(configFile(mcpClients.opencode, linux, true, (file) => file.endsWith('.jsonc'))).toBe('/work/opencode.jsonc');
  });
});

it('the shown change contains no secret of the file', async () => {
  const document = {
    apiKey: 'abcdefgh-one',
    mcpServers: {
      x: { command: 'x', args: ['--token', 'ghp_012345678901234567890'], env: { PW: 'abcdefgh-two' }, headers: { A: 'abcdefgh-three' } },
    },
  };
  const before = JSON.stringify(document, null, 2);
  const after = withServer(before, entry, json);
  const shown = await previewChange({ file: 'f\u001b[2J', before, after, exists: true, document });
  expect(shown).toContain('+    "aops": {');
  for (const secret of ['abcdefgh', 'ghp_', '\u001b']) expect(shown).not.toContain(secret);
  const line = await previewChange({ file: 'f', before: JSON.stringify(document), after: '', exists: false, document });
  expect(line).not.toContain('abcdefgh');
  expect(line).toContain('--- /dev/null');
});
