import { UsageError } from '../../base/errors.ts';
import { webAddress } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { optionalArgument, text } from '../../cli/kit/flags.ts';
import { returns } from '../../cli/kit/result.ts';
import { findConnection } from '../../cli/records/connection.ts';
import { headerOptions, readHeaders } from './headers.ts';
import { askingOperations, askServer, toolList, toolOutput } from './tool-list.ts';

export default defineCommand({
  summary: 'Try a connection, or an MCP server that is none yet, and list its tools',
  description:
    'The service connects to the server, not this machine. With --url nothing is kept. With a connection, what was found is: `aops connections get` shows it. The exit code is 1 when the server cannot be used.',
  arguments: { connection: optionalArgument('The connection, by id or name; not with --url', { complete: 'connections' }) },
  options: { url: text('URL', 'Try this address instead', { check: webAddress }), ...headerOptions },
  operations: askingOperations,
  examples: [
    { command: 'aops connections probe --url http://127.0.0.1:8080/mcp', text: 'Before a connection is made' },
    { command: 'aops connections probe --url https://crm.example.com/mcp --header Authorization=@token.txt', text: 'With a token' },
    { command: 'aops connections probe crm', text: 'One that there is' },
  ],
  result: returns('listConnectionTools.tools[]'),
  output: toolOutput,
  async run(context, input) {
    if ((input.connection === undefined) === (input.url === undefined))
      throw new UsageError(
        input.url === undefined ? 'There is nothing to try.' : 'A connection and --url exclude each other.',
        'Give a connection, or --url URL.',
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
