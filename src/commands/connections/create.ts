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
  summary: 'Connect to a remote MCP server',
  description:
    'Nothing is asked of the server yet: try it with `aops connections probe` before, or `aops connections tools` afterwards. A secret header is stored and never shown again. For a server that a person has to authorize, use `aops connections authorize`. Where a local service may connect to is said when it is started, with --allow-connection-host; one that `aops local up` started connects to this machine.',
  arguments: { name: argument('What procedures call it', { check: length(1, 100) }) },
  options: {
    url: requiredText('URL', 'Where the server answers', { check: webAddress }),
    ...headerOptions,
    authMethod: choice(
      ['url', 'apikey', 'headers', 'oauth'],
      'What lets in: url, apikey, headers or oauth (default: headers when there are some, else url)',
      {
        metavar: 'METHOD',
      },
    ),
    type: text('TYPE', 'What kind of connection it is (default custom_mcp)', { check: length(1, 100) }),
  },
  operations: ['createConnection'],
  mutates: true,
  examples: [
    { command: 'aops connections create tickets --url http://127.0.0.1:8080/mcp', text: 'A server on this machine' },
    {
      command: 'aops connections create crm --url https://crm.example.com/mcp --header Authorization=@token.txt',
      text: 'The file holds the whole value: Bearer ...',
    },
    { command: 'aops connections create crm --url https://crm.example.com/mcp --header X-Api-Key', text: 'Asks for the value' },
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
