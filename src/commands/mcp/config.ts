import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { textOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { requireBaseUrl } from '../../config/resolve.ts';
import { operation } from '../../interface/operations.ts';
import { type ServerEntry, serverEntry } from './entry.ts';

type Entry = ServerEntry | Record<string, unknown>;

export default defineCommand({
  summary: 'Print the configuration for an MCP client',
  description:
    'By default, the client starts `aops mcp serve`, which uses the credential of the profile, so the configuration contains no secret. With --http, the client connects directly to the service and reads the token from the variable AOPS_API_KEY, if it supports variables.',
  options: {
    http: flag('Configure the client to connect directly to the service'),
    absolute: flag('Use the absolute path of aops, for clients that cannot find it'),
    name: text('NAME', 'Name of the server in the client (default: aops)'),
  },
  examples: [
    { command: 'aops mcp config > .mcp.json', text: 'Configure the clients of a project' },
    { command: 'aops mcp config --http --profile prod', text: 'Configure a direct connection' },
  ],
  result: returns({ mcpServers: 'object' }),
  // Indented even in a file, because people edit it.
  output: textOutput<{ mcpServers: Entry }>((config) => JSON.stringify(config, null, 2)),
  async run(context, input) {
    const entry = input.http ? httpEntry(context) : serverEntry(context, input.absolute);
    return { mcpServers: { [input.name ?? 'aops']: entry } };
  },
});

function httpEntry(context: Context): Entry {
  const url = requireBaseUrl(context.config()) + operation('callMcp').path;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in
  return { type: 'http', url, headers: { Authorization: 'Bearer ${AOPS_API_KEY}' } };
}
