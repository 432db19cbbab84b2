import { isUuid } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { argument } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { findConnection } from '../../cli/records/connection.ts';
import type { Response } from '../../interface/types.ts';

export default defineCommand({
  summary: 'Check how an MCP server is authorized',
  description:
    'Reports whether the server supports OAuth, with its endpoint and scopes. If it registers clients automatically, `aops connections authorize` does the rest.',
  arguments: { server: argument('The address of the server, or a connection by ID or name', { complete: 'connections' }) },
  operations: ['checkMcpOAuth', 'listConnections', 'getConnection'],
  examples: [
    { command: 'aops connections check-oauth https://crm.example.com/mcp', text: 'Check a server before creating a connection' },
    { command: 'aops connections check-oauth crm --jq .supports_dcr', text: 'Print whether clients are registered automatically' },
  ],
  result: returns('checkMcpOAuth'),
  output: recordOutput<Response<'checkMcpOAuth'>>((oauth) => ({
    Authorization: oauth.authorization_endpoint ?? 'not offered; pass a token as a header if one is needed',
    Registration: oauth.authorization_endpoint === undefined ? undefined : oauth.supports_dcr ? 'automatic' : 'manual',
    Scopes: oauth.scopes?.join(' '),
  })),
  async run(context, { server }) {
    const client = await context.client();
    const isAddress = !isUuid(server) && URL.canParse(server);
    const mcp_server_url = isAddress ? server : ((await findConnection(context, server)).server_url ?? '');
    return client.call('checkMcpOAuth', { body: { mcp_server_url } });
  },
});
