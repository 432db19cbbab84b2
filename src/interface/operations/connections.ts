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
    summary: 'Ask the server of a connection for its tools, and note whether it could be used',
    extension: true,
  },
  probeMcpServer: {
    method: 'POST',
    path: '/v2/teams/{teamId}/connections/mcp/probe',
    // It changes nothing, so asking twice is asking twice.
    idempotent: false,
    success: 200,
    summary: 'Ask an MCP server for its tools, and keep nothing',
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
    summary: 'Begin the authorization of an MCP server, which a person gives at the URL returned',
  },
  startNativeOAuth: {
    method: 'POST',
    path: '/v2/teams/{teamId}/connections/oauth/native/{provider}/start',
    idempotent: true,
    success: 200,
    summary: 'Begin the authorization of a provider that the service knows itself',
  },
} as const satisfies Record<string, Operation>;
