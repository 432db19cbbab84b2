import os from 'node:os';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { configPaths } from '../../config/paths.ts';
import { requireBaseUrl } from '../../config/resolve.ts';
import { operation } from '../../interface/operations.ts';

type Entry = Record<string, unknown>;

export default defineCommand({
  summary: 'Print the configuration for an MCP client',
  description:
    'By default, the client starts `aops mcp serve`, which uses the credential of the profile, so the configuration contains no secret. With --http, the client connects directly to the service and reads the token from the variable AOPS_API_KEY, if it supports variables.',
  options: {
    http: flag('Configure the client to connect directly to the service'),
    absolute: flag('Use the absolute path of aops, for clients that cannot find it'),
    name: text('NAME', 'Name of the server in the client (default aops)'),
  },
  examples: [
    { command: 'aops mcp config > .mcp.json', text: 'Configure the clients of a project' },
    { command: 'aops mcp config --http --profile prod', text: 'Configure a direct connection' },
  ],
  result: returns({ mcpServers: 'object' }),
  // Indented even in a file, because people edit it.
  output: textOutput<{ mcpServers: Entry }>((config) => JSON.stringify(config, null, 2)),
  async run(context, input) {
    const entry = input.http ? httpEntry(context) : programEntry(context, input.absolute);
    return { mcpServers: { [input.name ?? 'aops']: entry } };
  },
});

function httpEntry(context: Context): Entry {
  const url = requireBaseUrl(context.config()) + operation('callMcp').path;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in
  return { type: 'http', url, headers: { Authorization: 'Bearer ${AOPS_API_KEY}' } };
}

/** The folders that are not in their default places. Secrets from the environment are not passed on. */
function foldersOf({ env, paths, launcher, cwd }: Context): Record<string, string> {
  const { AOPS_CONFIG_DIR: _config, AOPS_DATA_DIR: _data, AOPS_CACHE_DIR: _cache, ...otherVariables } = env;
  const defaultPaths = configPaths(otherVariables, env.HOME ?? os.homedir(), launcher.platform, cwd);
  const names = { config: 'AOPS_CONFIG_DIR', data: 'AOPS_DATA_DIR', cache: 'AOPS_CACHE_DIR' } as const;
  const keys = Object.keys(names) as (keyof typeof names)[];
  return Object.fromEntries(keys.filter((key) => paths[key] !== defaultPaths[key]).map((key) => [names[key], paths[key]]));
}

function programEntry(context: Context, absolute: boolean): Entry {
  const { launcher } = context;
  const { profile } = context.config();
  const args = ['mcp', 'serve', ...(profile.value === undefined ? [] : ['--profile', profile.value])];
  const folders = foldersOf(context);
  return {
    ...(absolute ? { command: launcher.executable, args: [launcher.script, ...args] } : { command: 'aops', args }),
    ...(Object.keys(folders).length === 0 ? {} : { env: folders }),
  };
}
