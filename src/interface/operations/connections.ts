import type { Operation } from '../operation.ts';

/** Connections of a team to remote MCP servers (further groups). */
export const connectionOperations = {
  listConnections: {
    method: 'GET',
    path: '/v2/teams/{teamId}/connections',
    idempotent: false,
    success: 200,
    summary: 'List the connections of a team',
  },
  createConnection: {
    method: 'POST',
    path: '/v2/teams/{teamId}/connections',
    idempotent: true,
    success: 201,
    summary: 'Connect a team to a remote MCP server',
  },
  getConnection: {
    method: 'GET',
    path: '/v2/connections/{connection_id}',
    idempotent: false,
    success: 200,
    summary: 'Get a connection',
  },
  updateConnection: {
    method: 'PATCH',
    path: '/v2/connections/{connection_id}',
    idempotent: true,
    success: 200,
    summary: 'Change a connection',
  },
  deleteConnection: {
    method: 'DELETE',
    path: '/v2/connections/{connection_id}',
    idempotent: true,
    success: 200,
    summary: 'Delete a connection',
  },
  listConnectionTools: {
    method: 'GET',
    path: '/v2/connections/{connection_id}/tools',
    idempotent: false,
    success: 200,
    summary: 'List the tools of a connection, and record whether its server works',
    extension: true,
  },
  probeMcpServer: {
    method: 'POST',
    path: '/v2/teams/{teamId}/connections/mcp/probe',
    // It changes nothing, so asking twice is asking twice.
    idempotent: false,
    success: 200,
    summary: 'List the tools of an MCP server, and store nothing',
  },
  checkMcpOAuth: {
    method: 'POST',
    path: '/v2/connections/oauth/mcp/check',
    idempotent: false,
    success: 200,
    summary: 'Find out how an MCP server is authorized',
  },
  authorizeMcpOAuth: {
    method: 'POST',
    path: '/v2/teams/{teamId}/connections/oauth/mcp/start',
    idempotent: true,
    success: 200,
    summary: 'Start the authorization of an MCP server, which a person completes at the returned URL',
  },
  startNativeOAuth: {
    method: 'POST',
    path: '/v2/teams/{teamId}/connections/oauth/native/{provider}/start',
    idempotent: true,
    success: 200,
    summary: 'Start the authorization of a built-in provider',
  },
} as const satisfies Record<string, Operation>;
