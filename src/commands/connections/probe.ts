import { UsageError } from '../../base/errors.ts';
import { webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument, text } from '../../cli/kit/flags.ts';
import { returns } from '../../cli/kit/result.ts';
import { findConnection } from '../../cli/records/connection.ts';
import { headerOptions, readHeaders } from './headers.ts';
import { askingOperations, askServer, toolList, toolOutput } from './tool-list.ts';

export default defineCommand({
  summary: 'Test a connection or an MCP server and list its tools',
  description:
    'The service connects to the server, not this machine. With --url, nothing is stored. With a connection, the service stores the result, which `aops connections get` shows. The exit code is 1 if the server cannot be used.',
  arguments: { connection: optionalArgument('The connection, by ID or name; not with --url', { complete: 'connections' }) },
  options: { url: text('URL', 'Test this address instead', { check: webAddress }), ...headerOptions },
  operations: askingOperations,
  examples: [
    { command: 'aops connections probe --url http://127.0.0.1:8080/mcp', text: 'Test a server before creating a connection' },
    {
      command: 'aops connections probe --url https://crm.example.com/mcp --header Authorization=@token.txt',
      text: 'Test a server with a token',
    },
    { command: 'aops connections probe crm', text: 'Test an existing connection' },
  ],
  result: returns('listConnectionTools.tools[]'),
  output: toolOutput,
  async run(context, input) {
    if ((input.connection === undefined) === (input.url === undefined))
      throw new UsageError(
        input.url === undefined ? 'No connection or address was specified.' : 'A connection and --url cannot be combined.',
        'Pass either a connection or --url URL.',
      );
    const client = await context.client();
    if (input.connection !== undefined) {
      if (input.header.length + input.plainHeader.length > 0)
        throw new UsageError('A connection has its own headers.', 'Change them with `aops connections update`.');
      return toolList(await askServer(context, await findConnection(context, input.connection)));
    }
    const { plaintext, secret } = await readHeaders(context, input);
    const body = { server_url: input.url as string, headers: { ...plaintext, ...secret } };
    return toolList(await client.call('probeMcpServer', { params: { teamId: context.teamId() }, body }));
  },
});
