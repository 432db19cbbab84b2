/** Which MCP server an agent gets, and why it might get none. */
import type { InitializeResponse } from '@agentclientprotocol/sdk';
import { expect, it } from 'vitest';
import { mcpServers, toolsShortfall } from '../../../../src/service/runtimes/acp/mcp-servers.ts';
import { hostLauncher } from '../../../../src/service/sandbox/launch.ts';

const http = { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } } as InitializeResponse;
const url = 'http://127.0.0.1:4000/v2/mcp';

it('passes the endpoint of the service with the token, unless the connection adds it', () => {
  expect(mcpServers(http, { url })).toEqual([{ type: 'http', name: 'aops', url, headers: [] }]);
  expect(mcpServers(http, { url, authorization: 'Bearer x' })).toEqual([
    { type: 'http', name: 'aops', url, headers: [{ name: 'Authorization', value: 'Bearer x' }] },
  ]);
  expect(toolsShortfall(http, { url })).toBeUndefined();
});

it.each([
  ['no MCP servers besides those that it starts', { protocolVersion: 1 }],
  ['only servers with event streams', { protocolVersion: 1, agentCapabilities: { mcpCapabilities: { sse: true } } }],
])('passes no server to an agent that supports %s', (_, info) => {
  expect(mcpServers(info as InitializeResponse, { url })).toEqual([]);
  expect(toolsShortfall(info as InitializeResponse, { url })).toBe('it does not support MCP servers over HTTP');
});

it('passes no server with TLS to a program that does not know the certificate', async () => {
  const request = { program: 'agent', args: [], environment: {}, directory: '/', home: '/', temporary: '/' };
  const endpoint = { url: 'https://127.0.0.1:4000/v2/mcp', authorization: 'Bearer x' };
  const launch = await hostLauncher.prepare({ ...request, endpoint });
  expect(launch.endpoint).toBeUndefined();
  expect(mcpServers(http, launch.endpoint)).toEqual([]);
  expect(toolsShortfall(http, launch.endpoint)).toBe('this service uses TLS, and the agent is not contained');
  expect((await hostLauncher.prepare({ ...request, endpoint: { ...endpoint, url } })).endpoint).toEqual({ ...endpoint, url });
});
