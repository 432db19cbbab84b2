/** The MCP server with the tools of a run, as it is passed to the agent. */
import type { InitializeResponse, McpServer } from '@agentclientprotocol/sdk';
import type { ProgramEndpoint } from '../../sandbox/launch.ts';

/** The servers of a session. The token is passed on only if the connection does not add it. @param endpoint undefined if it cannot be reached */
export function mcpServers(info: InitializeResponse, endpoint: ProgramEndpoint | undefined): McpServer[] {
  if (endpoint === undefined || !supportsHttp(info)) return [];
  const { url, authorization } = endpoint;
  const headers = authorization === undefined ? [] : [{ name: 'Authorization', value: authorization }];
  return [{ type: 'http', name: 'aops', url, headers }];
}

/** Why an agent has no tools, as the end of a sentence; undefined if it has. */
export function toolsShortfall(info: InitializeResponse, endpoint: ProgramEndpoint | undefined): string | undefined {
  if (endpoint === undefined) return 'this service uses TLS, and the agent is not contained';
  return supportsHttp(info) ? undefined : 'it does not support MCP servers over HTTP';
}

/** All agents support servers that they start themselves; those over HTTP are optional. */
const supportsHttp = ({ agentCapabilities }: InitializeResponse): boolean => agentCapabilities?.mcpCapabilities?.http === true;
