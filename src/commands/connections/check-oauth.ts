import type { Response } from '../../interface/types.ts';
import { isUuid } from '../checks.ts';
import { argument, defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { returns } from '../result.ts';
import { findConnection } from './record.ts';

export default defineCommand({
  summary: 'Find out how an MCP server is authorized',
  description:
    'Says whether a person can authorize it, where, and for what. Where clients are registered automatically, `aops connections authorize` does the rest.',
  arguments: { server: argument('The address of the server, or a connection by id or name', { complete: 'connections' }) },
  operations: ['checkMcpOAuth', 'listConnections', 'getConnection'],
  examples: [
    { command: 'aops connections check-oauth https://crm.example.com/mcp', text: 'Before a connection is made' },
    { command: 'aops connections check-oauth crm --jq .supports_dcr', text: 'Ask in a script' },
  ],
  result: returns('checkMcpOAuth'),
  output: recordOutput<Response<'checkMcpOAuth'>>((found) => ({
    Authorization: found.authorization_endpoint ?? 'not offered; give a token as a header where one is needed',
    Registration: found.authorization_endpoint === undefined ? undefined : found.supports_dcr ? 'automatic' : 'by hand only',
    Scopes: found.scopes?.join(' '),
  })),
  async run(context, { server }) {
    const client = await context.client();
    const isAddress = !isUuid(server) && URL.canParse(server);
    const mcp_server_url = isAddress ? server : ((await findConnection(context, server)).server_url ?? '');
    return client.call('checkMcpOAuth', { body: { mcp_server_url } });
  },
});
