/** The MCP clients whose configuration aops can change: where it is, and the form of an entry in it. Pure. */
import path from 'node:path';
import type { Environment } from '../../../config/paths.ts';
import type { ServerEntry } from '../entry.ts';

/** What the location of a file depends on. */
export interface Machine {
  env: Environment;
  home: string;
  platform: string;
  /** The folder of the project. */
  cwd: string;
}

export interface McpClient {
  /** As people call it. */
  readonly name: string;
  readonly format: 'json' | 'toml';
  /** The members that lead to the servers. */
  readonly servers: readonly [string];
  /** Candidates for the file of the user; the first that exists is used, or else the first. */
  readonly userFiles: (machine: Machine) => string[];
  /** The same for the file of a project; missing if the client has none. */
  readonly projectFiles?: readonly string[];
  readonly entryOf: (entry: ServerEntry) => Record<string, unknown>;
  /** Whether it is started from a desktop, where the folder of `aops` is often missing from PATH. */
  readonly desktop?: true;
  /** How it notices the change. */
  readonly next: string;
}

const pathsOf = ({ platform }: Pick<Machine, 'platform'>) => (platform === 'win32' ? path.win32 : path.posix);

/** A file in the home directory. */
const atHome =
  (...parts: string[]) =>
  (machine: Machine): string[] => [pathsOf(machine).join(machine.home, ...parts)];

/** A file in the folder in which desktop programs store their settings. */
const inSettings =
  (...parts: string[]) =>
  (machine: Machine): string[] => {
    const { env, home, platform } = machine;
    const { join } = pathsOf(machine);
    if (platform === 'darwin') return [join(home, 'Library', 'Application Support', ...parts)];
    if (platform === 'win32') return [join(env.APPDATA ?? join(home, 'AppData', 'Roaming'), ...parts)];
    return [join(xdgConfig(machine), ...parts)];
  };

const xdgConfig = ({ env, home }: Machine): string =>
  env.XDG_CONFIG_HOME && path.isAbsolute(env.XDG_CONFIG_HOME) ? env.XDG_CONFIG_HOME : path.posix.join(home, '.config');

/** A file in a folder that a variable can name, or else at home. */
const inFolder =
  (variable: string, file: string, ...parts: string[]) =>
  (machine: Machine): string[] => {
    const folder = machine.env[variable];
    return folder ? [pathsOf(machine).join(folder, file)] : atHome(...parts)(machine);
  };

const plain = ({ command, args, env }: ServerEntry): Record<string, unknown> => ({ command, args, ...(env === undefined ? {} : { env }) });
const typed = (entry: ServerEntry): Record<string, unknown> => ({ type: 'stdio', ...plain(entry) });

export const mcpClients = {
  'claude-code': {
    name: 'Claude Code',
    format: 'json',
    servers: ['mcpServers'],
    userFiles: inFolder('CLAUDE_CONFIG_DIR', '.claude.json', '.claude.json'),
    projectFiles: ['.mcp.json'],
    entryOf: typed,
    next: 'Start a new session of Claude Code to use it.',
  },
  'claude-desktop': {
    name: 'Claude Desktop',
    format: 'json',
    servers: ['mcpServers'],
    userFiles: inSettings('Claude', 'claude_desktop_config.json'),
    entryOf: plain,
    desktop: true,
    next: 'Quit Claude Desktop and start it again to use it.',
  },
  cursor: {
    name: 'Cursor',
    format: 'json',
    servers: ['mcpServers'],
    userFiles: atHome('.cursor', 'mcp.json'),
    projectFiles: ['.cursor/mcp.json'],
    entryOf: plain,
    desktop: true,
    next: 'Enable it in the MCP settings of Cursor if it is not active.',
  },
  vscode: {
    name: 'VS Code',
    format: 'json',
    servers: ['servers'],
    userFiles: inSettings('Code', 'User', 'mcp.json'),
    projectFiles: ['.vscode/mcp.json'],
    entryOf: typed,
    desktop: true,
    next: 'Start it with "MCP: List Servers" in VS Code.',
  },
  codex: {
    name: 'Codex',
    format: 'toml',
    servers: ['mcp_servers'],
    userFiles: inFolder('CODEX_HOME', 'config.toml', '.codex', 'config.toml'),
    projectFiles: ['.codex/config.toml'],
    entryOf: plain,
    next: 'Start a new session of Codex to use it.',
  },
  gemini: {
    name: 'Gemini CLI',
    format: 'json',
    servers: ['mcpServers'],
    userFiles: atHome('.gemini', 'settings.json'),
    projectFiles: ['.gemini/settings.json'],
    entryOf: plain,
    next: 'Start a new session of Gemini CLI to use it.',
  },
  opencode: {
    name: 'opencode',
    format: 'json',
    servers: ['mcp'],
    userFiles: (machine) => {
      const folder = pathsOf(machine).join(xdgConfig(machine), 'opencode');
      return ['opencode.json', 'opencode.jsonc'].map((file) => pathsOf(machine).join(folder, file));
    },
    projectFiles: ['opencode.json', 'opencode.jsonc'],
    entryOf: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      enabled: true,
      ...(env === undefined ? {} : { environment: env }),
    }),
    next: 'Start a new session of opencode to use it.',
  },
  windsurf: {
    name: 'Windsurf',
    format: 'json',
    servers: ['mcpServers'],
    userFiles: atHome('.codeium', 'windsurf', 'mcp_config.json'),
    entryOf: plain,
    desktop: true,
    next: 'Refresh the MCP servers in Windsurf to use it.',
  },
} as const satisfies Record<string, McpClient>;

export type McpClientId = keyof typeof mcpClients;
export const mcpClientIds = Object.keys(mcpClients) as [McpClientId, ...McpClientId[]];

/** Where the configuration of a client is. Undefined if it has none for projects. */
export function configFile(client: McpClient, machine: Machine, project: boolean, exists: (file: string) => boolean): string | undefined {
  const candidates = project ? client.projectFiles?.map((file) => path.resolve(machine.cwd, file)) : client.userFiles(machine);
  return candidates?.find(exists) ?? candidates?.[0];
}
