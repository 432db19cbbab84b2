import { omitUndefined } from '../../base/omit-undefined.ts';
import { length, webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument, choice, requiredText, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { connectionRecord } from '../../cli/records/connection.ts';
import type { Connection } from '../../interface/types.ts';
import { headerOptions, readHeaders, sentHeaders } from './headers.ts';

export default defineCommand({
  summary: 'Create a connection to a remote MCP server',
  description:
    'The server is not contacted yet: test it with `aops connections probe` before, or with `aops connections tools` afterwards. Secret headers are stored and never shown again. For servers with OAuth, use `aops connections authorize`. A service started with `aops local up` connects only to this machine; allow other hosts with --allow-connection-host when you start it.',
  arguments: { name: argument('The name of the connection, used in procedures', { check: length(1, 100) }) },
  options: {
    url: requiredText('URL', 'Address of the server', { check: webAddress }),
    ...headerOptions,
    authMethod: choice(
      ['url', 'apikey', 'headers', 'oauth'],
      'How the service authenticates: url, apikey, headers, or oauth (default: headers if there are any, otherwise url)',
      {
        metavar: 'METHOD',
      },
    ),
    type: text('TYPE', 'Type of the connection (default: custom_mcp)', { check: length(1, 100) }),
  },
  operations: ['createConnection'],
  mutates: true,
  examples: [
    { command: 'aops connections create tickets --url http://127.0.0.1:8080/mcp', text: 'Connect to a server on this machine' },
    {
      command: 'aops connections create crm --url https://crm.example.com/mcp --header Authorization=@token.txt',
      text: 'Read a secret header from a file with the full value, such as Bearer ...',
    },
    {
      command: 'aops connections create crm --url https://crm.example.com/mcp --header X-Api-Key',
      text: 'Prompt for the value of a secret header',
    },
  ],
  result: returns('createConnection'),
  output: recordOutput<Connection>(connectionRecord),
  async run(context, input) {
    const client = await context.client();
    const headers = await readHeaders(context, input);
    const hasHeaders = Object.keys({ ...headers.plaintext, ...headers.secret }).length > 0;
    const body = {
      name: input.name,
      server_url: input.url,
      provider: 'user' as const,
      auth_method: input.authMethod ?? (hasHeaders ? ('headers' as const) : ('url' as const)),
      ...omitUndefined({ type: input.type }),
      ...(hasHeaders ? { headers: sentHeaders(context, headers) } : {}),
    };
    return client.call('createConnection', { params: { teamId: context.teamId() }, body }, { confidential: true });
  },
});
