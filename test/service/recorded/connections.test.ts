import { it } from 'vitest';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { McpServer } from '../../support/mcp-server.ts';
import { afterTest } from '../../support/temporary.ts';
import { Recording, steps } from './recording.ts';

it('connections, their tools, and runs that call them', async () => {
  const server = await McpServer.start();
  afterTest(() => server.close());
  const recording = await Recording.start({ runtimes: [scriptRuntime] });
  recording.nameServer(server.url, 'tools');
  const { call } = recording;
  await call('listPluginCatalog');
  await call('probeMcpServer', { body: { server_url: server.url } });
  await call('probeMcpServer', { body: { server_url: 'http://127.0.0.1:9/mcp' } });
  const fields = { provider: 'user', auth_method: 'headers', server_url: server.url };
  const connection = await call('createConnection', {
    body: { ...fields, name: 'Tickets', type: 'crm', headers: { plaintext: { 'X-Team': 'blue' }, secret: { 'X-Key': 'hidden' } } },
  });
  const params = { connection_id: connection.id };
  await call('createConnection', { body: { ...fields, name: 'tickets' } });
  await call('updateConnection', { params, body: { name: 'CRM', shared: false, headers: { secret: { 'X-Key': '' } } } });
  await call('getConnection', { params });
  await call('listConnectionTools', { params });
  await call('listConnections', { query: { type: 'crm' } });
  const { agent } = await call('createAgent', {
    body: {
      name: 'Caller',
      build: {
        name: 'first',
        config: steps(
          'tool: { id: ok, connection: CRM, name: create_ticket, arguments: { title: Desk } }',
          'tool: { id: none, connection: CRM, name: none, on_error: continue }',
          'tool: { id: gone, connection: gone, name: none, on_error: continue }',
          'say: "{{ steps.ok.text }} {{ steps.none.error }} {{ steps.gone.error }}"',
        ),
      },
    },
  });
  const { run } = await call('startRun', { body: { agent_id: agent.id } });
  await call('listRunMessages', { params: { run_id: run.id } });
  server.require('x-key', () => 'another');
  await call('listConnectionTools', { params });
  await call('getConnection', { params });
  await call('startRun', { body: { agent_id: agent.id } });
  await call('checkAgent', { body: { agent_id: agent.id } });
  await call('deleteConnection', { params });
  await call('getConnection', { params });

  await call('startNativeOAuth', { params: { provider: 'github' }, body: {} });
  await call('listConnections');
  await recording.expectToBe('connections');
});

it('the MCP endpoint of the service', async () => {
  const recording = await Recording.start({ runtimes: [scriptRuntime] });
  const { call } = recording;
  const { agent } = await call('createAgent', { body: { name: 'Greeter', build: { name: 'first', config: steps('say: Hello') } } });
  let id = 0;
  const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' };
  const rpc = (method: string, params: object = {}) => call('callMcp', { headers, body: { jsonrpc: '2.0', id: ++id, method, params } });
  await rpc('tools/list');
  await rpc('tools/call', { name: 'start_run', arguments: { agent_id: agent.id, message: 'Hi' } });
  await rpc('tools/call', { name: 'list_runs', arguments: { limit: 1 } });
  await rpc('tools/call', { name: 'none', arguments: {} });
  await rpc('nothing');
  await recording.expectToBe('mcp');
});
