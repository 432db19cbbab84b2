/** Connections over HTTP: managing them, their secrets, and real MCP servers with both generations of the protocol. */
import { randomUUID } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Body } from '../../../src/interface/types.ts';
import type { LogEntry } from '../../../src/service/log.ts';
import { AuthorizationServer } from '../../support/authorization-server.ts';
import { McpServer } from '../../support/mcp-server.ts';
import { needsSqlite } from '../../support/postgres.ts';
import { itNeeding } from '../../support/requirements.ts';
import { afterTest } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import type { Api } from '../helpers/service.ts';
import { storedRows, storedText } from '../helpers/stored.ts';
import { failure, receiver } from '../helpers/webhooks.ts';

const api = covers('connections');

async function mcpServer(era?: 'both' | 'legacy'): Promise<McpServer> {
  const server = await McpServer.start(era);
  afterTest(() => server.close());
  return server;
}

/** A server that answers every request in the same way. */
async function serveAnswer(status: number, headers: Record<string, string>, body = ''): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(status, headers).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const fields = (overrides: Partial<Body<'createConnection'>> = {}): Body<'createConnection'> => ({
  name: 'tickets',
  provider: 'user',
  auth_method: 'url',
  server_url: 'http://127.0.0.1:9/mcp',
  ...overrides,
});

const connect = async (service: Api, overrides: Partial<Body<'createConnection'>> = {}) =>
  (await service.ok('createConnection', { body: fields(overrides) })).id;
const inputOf = (id: string) => ({ params: { connection_id: id } });

describe('connections', () => {
  it('are created, listed, changed, and deleted', async () => {
    const service = await api();
    const creation = await service.ok('createConnection', { body: fields({ server_url: 'http://127.0.0.1:9/mcp#part' }) });
    expect(creation).toMatchObject({
      name: 'tickets',
      type: 'custom_mcp',
      provider: 'user',
      server_url: 'http://127.0.0.1:9/mcp',
      transport_type: 'http',
      auth_method: 'url',
      has_headers: false,
      has_oauth_tokens: false,
      shared: true,
      broken_at: null,
      team_id: service.service.teamId,
    });
    const otherId = await connect(service, { name: 'crm', type: 'crm' });
    expect(await service.ok('listConnections')).toMatchObject({
      total: 2,
      limit: 100,
      offset: 0,
      integrations: [{ id: creation.id }, { id: otherId }],
    });
    expect(await service.ok('listConnections', { query: { type: 'crm' } })).toMatchObject({ total: 1, integrations: [{ id: otherId }] });
    expect(await service.ok('listConnections', { query: { limit: 1, offset: 1 } })).toMatchObject({
      total: 2,
      integrations: [{ id: otherId }],
    });

    const changedConnection = await service.ok('updateConnection', {
      ...inputOf(otherId),
      body: { name: 'sales', shared: false, auth_method: 'headers' },
    });
    expect(changedConnection).toMatchObject({ id: otherId, name: 'sales', shared: false, auth_method: 'headers', type: 'crm' });
    expect(await service.ok('getConnection', inputOf(otherId))).toEqual(changedConnection);

    expect(await service.ok('deleteConnection', inputOf(otherId))).toMatchObject({
      success: true,
      message: 'The connection sales was deleted.',
    });
    for (const id of ['getConnection', 'updateConnection', 'deleteConnection', 'listConnectionTools'] as const)
      expect(failure(await service.call(id, { ...inputOf(otherId), body: {} })), id).toEqual([404, 'connection_not_found']);
    expect((await service.ok('listConnections')).total).toBe(1);
  });

  it.each([
    ['no address', { server_url: undefined }, 400, 'invalid_request', 'server_url'],
    ['nonsense', { server_url: 'nonsense' }, 400, 'invalid_request', 'http or https'],
    ['a file', { server_url: 'file:///etc/passwd' }, 400, 'invalid_request', 'http or https'],
    ['a password', { server_url: 'http://me:pw@127.0.0.1/' }, 400, 'invalid_request', 'user name'],
    [
      'cloud metadata',
      { server_url: 'http://169.254.169.254/' },
      400,
      'connection_host_not_allowed',
      '--allow-connection-host 169.254.169.254',
    ],
    ['another machine', { server_url: 'http://10.0.0.7/' }, 400, 'connection_host_not_allowed', '--allow-connection-host 10.0.0.7'],
    ['another provider', { provider: 'native' }, 400, 'invalid_request', 'provider'],
    ['another way in', { auth_method: 'magic' }, 400, 'invalid_request', 'auth_method'],
    ['no name', { name: '' }, 400, 'invalid_request', 'name'],
    ['a custom integration', { custom_integration_id: randomUUID() }, 404, 'custom_integration_not_found', ''],
    ['a header of the protocol', { headers: { plaintext: { Host: 'evil' } } }, 400, 'invalid_request', 'protocol'],
    ['a header that splits', { headers: { secret: { 'X-Key': 'a\r\nb: c' } } }, 400, 'invalid_request', 'X-Key'],
    ['an invalid name', { headers: { plaintext: { 'X Key': 'a' } } }, 400, 'invalid_request', 'X Key'],
    ['the same header twice', { headers: { plaintext: { 'X-Key': 'a' }, secret: { 'x-key': 'b' } } }, 400, 'invalid_request', 'twice'],
    ['an empty secret', { headers: { secret: { 'X-Key': '' } } }, 400, 'invalid_request', 'no stored value'],
    ['a long header', { headers: { plaintext: { 'X-Key': 'x'.repeat(8_193) } } }, 400, 'invalid_request', 'longer'],
  ])('cannot be created with %s', async (_, overrides, status, error, word) => {
    const service = await api();
    const refusal = await service.call('createConnection', { body: { ...fields(), ...overrides } });
    expect(failure(refusal)).toEqual([status, error]);
    expect(refusal.text).toContain(word);
    expect(refusal.text).not.toContain('b: c');
  });

  it('of another team do not exist', async () => {
    const service = await api();
    const id = await connect(service);
    const otherApi = await service.inNewTeam();
    for (const operation of ['getConnection', 'updateConnection', 'deleteConnection', 'listConnectionTools'] as const)
      expect(failure(await otherApi.call(operation, { ...inputOf(id), body: {} })), operation).toEqual([404, 'connection_not_found']);
    const params = { teamId: service.service.teamId, provider: 'google' };
    const body = { ...fields(), mcp_server_url: 'http://127.0.0.1:9/mcp' };
    for (const operation of ['listConnections', 'createConnection', 'probeMcpServer', 'authorizeMcpOAuth', 'startNativeOAuth'] as const)
      expect(failure(await otherApi.call(operation, { params, body })), operation).toEqual([404, 'team_not_found']);
  });

  it('can be read with runs:read, but changed only with full access', async () => {
    const service = await api();
    const id = await connect(service);
    const reader = await service.withToken({ scopes: ['runs:read'] });
    expect((await reader.ok('getConnection', inputOf(id))).id).toBe(id);
    for (const operation of [
      'createConnection',
      'updateConnection',
      'deleteConnection',
      'listConnectionTools',
      'probeMcpServer',
      'authorizeMcpOAuth',
      'startNativeOAuth',
    ] as const) {
      const params = { connection_id: id, provider: 'google' };
      expect(failure(await reader.call(operation, { params, body: fields() })), operation).toEqual([403, 'insufficient_scope']);
    }
  });
});

describe('secret headers', () => {
  const secret = 'sk-live-0123456789abcdef';

  it('are sent to the server only, and are not readable on disk', async () => {
    const service = await api();
    const server = await mcpServer();
    server.require('x-api-key', () => secret);
    const headers = { plaintext: { 'X-Team': 'blue' }, secret: { 'X-Api-Key': secret } };
    const creation = await service.call('createConnection', { body: fields({ server_url: server.url, auth_method: 'headers', headers }) });
    expect(creation.body).toMatchObject({ has_headers: true, headers: { plaintext: { 'X-Team': 'blue' }, secret: { 'X-Api-Key': '' } } });
    const id = creation.body.id;
    expect(await service.ok('listConnectionTools', inputOf(id))).toMatchObject({ success: true });
    const texts = [creation.text, (await service.call('getConnection', inputOf(id))).text, (await service.call('listConnections')).text];
    expect(texts.join('')).not.toContain(secret);
    const storedState = await storedText(service.dataDirectory);
    expect(storedState).toContain('tickets');
    expect(storedState).not.toContain(secret);
    expect(storedState).not.toContain(Buffer.from(secret).toString('base64url'));
    expect((await stat(join(service.dataDirectory, 'secrets.key'))).mode & 0o777).toBe(0o600);
  });

  it('are kept by an empty value, replaced by another value, and removed if left out', async () => {
    const service = await api();
    const server = await mcpServer();
    const id = await connect(service, { server_url: server.url, headers: { secret: { 'X-Api-Key': secret, 'X-Other': 'other-value' } } });
    const seenRequests: Record<string, unknown>[] = [];
    server.guard = ({ headers }) => {
      seenRequests.push({ key: headers['x-api-key'], other: headers['x-other'], plain: headers['x-plain'] });
      return false;
    };
    const change = async (headers: Body<'updateConnection'>['headers']) => {
      await service.ok('updateConnection', { ...inputOf(id), body: { headers } });
      seenRequests.length = 0;
      await service.ok('listConnectionTools', inputOf(id));
      return seenRequests[0];
    };
    expect(await change({ plaintext: { 'X-Plain': 'p' } })).toEqual({ key: secret, other: 'other-value', plain: 'p' });
    expect(await change({ secret: { 'x-api-key': '', 'X-Other': 'new-value' } })).toEqual({ key: secret, other: 'new-value', plain: 'p' });
    expect(await change({ secret: { 'X-Api-Key': '' } })).toEqual({ key: secret, plain: 'p' });
    expect(await change(null)).toEqual({});
    const goneAnswer = await service.call('updateConnection', { ...inputOf(id), body: { headers: { secret: { 'X-Api-Key': '' } } } });
    expect(failure(goneAnswer)).toEqual([400, 'invalid_request']);
  });

  it('do not follow the connection to another host', async () => {
    const service = await api();
    const [first, second] = [await mcpServer(), await mcpServer()];
    const id = await connect(service, { server_url: first.url, headers: { secret: { 'X-Api-Key': secret } } });
    await service.ok('updateConnection', { ...inputOf(id), body: { server_url: `${first.origin}/mcp?v=2` } });
    for (const headers of [undefined, { secret: { 'X-Api-Key': '' } }, { plaintext: {} }]) {
      const refusal = await service.call('updateConnection', { ...inputOf(id), body: { server_url: second.url, headers } });
      expect(failure(refusal)).toEqual([400, 'invalid_request']);
      expect(refusal.text).toContain('another host');
    }
    await service.ok('updateConnection', {
      ...inputOf(id),
      body: { server_url: second.url, headers: { secret: { 'X-Api-Key': 'other' } } },
    });
    await service.ok('updateConnection', { ...inputOf(id), body: { server_url: first.url, headers: null } });
  });

  itNeeding(needsSqlite, 'that can no longer be read break the connection until they are entered again', async () => {
    const service = await api();
    const server = await mcpServer();
    const id = await connect(service, { server_url: server.url, headers: { secret: { 'X-Api-Key': secret } } });
    await service.service.close();
    await rm(join(service.dataDirectory, 'secrets.key'));
    const restartedApi = await api({ dataDirectory: service.dataDirectory });
    expect(await restartedApi.ok('listConnectionTools', inputOf(id))).toMatchObject({
      success: false,
      error: expect.stringContaining('another key'),
    });
    expect(await restartedApi.ok('getConnection', inputOf(id))).toMatchObject({
      broken_reason: expect.stringContaining('another key'),
      has_headers: true,
    });
    await restartedApi.ok('updateConnection', { ...inputOf(id), body: { headers: { secret: { 'X-Api-Key': secret } } } });
    expect(await restartedApi.ok('listConnectionTools', inputOf(id))).toMatchObject({ success: true });
  });
});

describe.each(['both', 'legacy'] as const)('a server that supports %s protocol versions', (era) => {
  it('lists its tools for a probe, which stores nothing, and for a connection', async () => {
    const service = await api();
    const server = await mcpServer(era);
    server.require('authorization', () => 'Bearer letmein');
    const probe = { server_url: server.url, headers: { Authorization: 'Bearer letmein' } };
    const answer = await service.ok('probeMcpServer', { body: probe });
    expect(answer).toMatchObject({
      success: true,
      tools: expect.arrayContaining([
        { name: 'create_ticket', description: 'Creates a ticket', input_schema: expect.objectContaining({ type: 'object' }) },
        { name: 'hang', input_schema: expect.any(Object) },
      ]),
    });
    expect(await service.ok('probeMcpServer', { body: { server_url: server.url } })).toEqual({
      success: false,
      error: 'The server could not be used: it refused the credentials (401).',
    });
    expect((await service.ok('listConnections')).total).toBe(0);
    const id = await connect(service, { server_url: server.url, headers: { secret: { Authorization: 'Bearer letmein' } } });
    expect(await service.ok('listConnectionTools', inputOf(id))).toEqual(answer);
    if (era === 'legacy') expect([server.sessions.size, server.endCount]).toEqual([0, 2]);
  });
});

describe('the health of a connection', () => {
  it('is stored, reported to webhooks once, and reset when the connection works again or is changed', async () => {
    const clock = new ManualClock();
    const entries: LogEntry[] = [];
    const service = await api({ clock, log: (entry) => entries.push(entry) });
    const hook = await receiver();
    await service.ok('createTeamWebhook', { body: { url: hook.url, events: ['connection.updated', 'connection.action_required'] } });
    const server = await mcpServer();
    let token = 'first';
    server.require('x-api-key', () => token);
    const id = await connect(service, { server_url: server.url, headers: { secret: { 'X-Api-Key': 'first' } } });
    const tools = () => service.ok('listConnectionTools', inputOf(id));
    expect((await tools()).success).toBe(true);
    token = 'second';
    expect((await tools()).success).toBe(false);
    expect((await tools()).success).toBe(false);
    const reason = 'it refused the credentials (401)';
    expect(await service.ok('getConnection', inputOf(id))).toMatchObject({ broken_at: '2026-07-18T09:00:00.000Z', broken_reason: reason });
    token = 'first';
    expect((await tools()).success).toBe(true);
    expect(await service.ok('getConnection', inputOf(id))).toMatchObject({ broken_at: null, broken_reason: null });
    token = 'second';
    await tools();
    // Its name says nothing about its health.
    await service.ok('updateConnection', { ...inputOf(id), body: { name: 'renamed' } });
    expect(await service.ok('getConnection', inputOf(id))).toMatchObject({ name: 'renamed', broken_reason: reason });
    await service.ok('updateConnection', { ...inputOf(id), body: { headers: { secret: { 'X-Api-Key': 'second' } } } });
    expect(await service.ok('getConnection', inputOf(id))).toMatchObject({ broken_at: null });
    const healthEntries = entries.filter(({ message }) => message.startsWith('a connection'));
    expect(healthEntries.map(({ level, message, fields: logged }) => [level, message, logged?.connection, logged?.reason])).toEqual([
      ['warn', 'a connection does not work', id, reason],
      ['info', 'a connection works again', id, undefined],
      ['warn', 'a connection does not work', id, reason],
    ]);
    await hook.count(6);
    const events = hook.deliveries.map(
      ({ json }) => json as unknown as { type: string; data: { connection: { broken_reason: string | null } } },
    );
    expect(events.map(({ type, data }) => [type, data.connection.broken_reason]).sort()).toEqual(
      [
        ['connection.updated', null],
        ['connection.action_required', reason],
        ['connection.updated', null],
        ['connection.action_required', reason],
        ['connection.updated', reason],
        ['connection.updated', null],
      ].sort(),
    );
    expect(JSON.stringify(events)).not.toContain('first');
  });

  it.each([
    ['nobody there', async () => 'http://127.0.0.1:9/mcp', 'the connection was refused'],
    [
      'a redirect',
      () => serveAnswer(302, { location: 'http://127.0.0.1:1/' }),
      'it responded with 302, a redirect; redirects are not followed',
    ],
    ['a web page', () => serveAnswer(200, { 'content-type': 'text/html' }, '<p>Hello</p>'), 'is not MCP'],
    ['JSON that is not MCP', () => serveAnswer(200, { 'content-type': 'application/json' }, '{"a":1}'), 'is not MCP'],
    ['a failure', () => serveAnswer(500, {}), 'it responded with 500, unlike an MCP server'],
    ['not found', () => serveAnswer(404, {}), 'it responded with 404'],
    [
      'too much',
      () => serveAnswer(200, { 'content-type': 'application/json' }, `"${'x'.repeat(5 * 1024 * 1024)}"`),
      'larger than 4194304 bytes',
    ],
  ])('reports what is wrong: %s', async (_, url, words) => {
    const service = await api();
    const answer = await service.ok('probeMcpServer', { body: { server_url: await url() } });
    expect(answer.success).toBe(false);
    expect(answer.error).toMatch(/^The server could not be used: .+[.?]$/);
    expect(answer.error).toContain(words);
  });

  it('reports which part of a response violates the protocol', async () => {
    const service = await api();
    const server = await mcpServer('legacy');
    server.guard = (request, response) => {
      if (request.headers['mcp-session-id'] === undefined || request.method !== 'POST') return false;
      void json(request).then((requestBody) => {
        const { id, method } = requestBody as { id?: number; method: string };
        const answer = { jsonrpc: '2.0', id, result: { tools: [{ name: 'without_schema' }] } };
        if (method === 'tools/list') response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
        else response.writeHead(202).end();
      });
      return true;
    };
    const answer = await service.ok('probeMcpServer', { body: { server_url: server.url } });
    expect(answer.error).toMatch(/: Invalid result for tools\/list: tools\.0\.inputSchema: .*expected object.*\.$/);
  });

  it('reports that a server took too long', async () => {
    const clock = new ManualClock();
    const service = await api({ clock });
    const server = await mcpServer();
    const request = new Promise<void>((resolve) => {
      server.guard = () => {
        resolve();
        return true;
      };
    });
    const answer = service.ok('probeMcpServer', { body: { server_url: server.url } });
    await request;
    clock.advance(15_000);
    expect(await answer).toEqual({ success: false, error: 'The server could not be used: there was no response within 15s.' });
  });

  it('connects only to allowed addresses, whatever a name resolves to', async () => {
    const server = await mcpServer();
    const { port } = new URL(server.url);
    const addresses: Record<string, string> = { 'inside.test': '10.0.0.7', 'here.test': '127.0.0.1' };
    const lookup = (host: string, _: unknown, callback: (error: null, found: { address: string; family: number }[]) => void): void =>
      callback(null, [{ address: addresses[host] as string, family: 4 }]);
    const service = await api({ connections: { lookup } });
    expect(await service.ok('probeMcpServer', { body: { server_url: `http://here.test:${port}/mcp` } })).toMatchObject({ success: true });
    const id = await connect(service, { server_url: `http://here.test:${port}/mcp` });
    addresses['here.test'] = '10.0.0.7';
    expect((await service.ok('listConnectionTools', inputOf(id))).error).toContain('may not connect to here.test');
    const insideAnswer = await service.call('probeMcpServer', { body: { server_url: `http://inside.test:${port}/mcp` } });
    expect(failure(insideAnswer)).toEqual([400, 'connection_host_not_allowed']);
  });

  it('cannot be probed for an integration, or without a URL', async () => {
    const service = await api();
    expect(failure(await service.call('probeMcpServer', { body: { integration_slug: 'crm' } }))).toEqual([404, 'integration_not_found']);
    expect(failure(await service.call('probeMcpServer', { body: {} }))).toEqual([400, 'invalid_request']);
  });
});

describe('authorization', () => {
  async function startAuthorized(service: Api): Promise<{ server: McpServer; issuer: AuthorizationServer }> {
    const [server, issuer] = [await mcpServer(), await AuthorizationServer.start()];
    afterTest(() => issuer.close());
    issuer.protect(server);
    expect((await service.ok('listConnections')).total).toBe(0);
    return { server, issuer };
  }

  /** What a browser displays in the end. */
  const visit = async (url: string) => {
    const response = await fetch(url);
    return { status: response.status, headers: response.headers, url: response.url, text: await response.text() };
  };
  const start = async (service: Api, body: Partial<Body<'authorizeMcpOAuth'>> & { mcp_server_url: string }) =>
    (await service.ok('authorizeMcpOAuth', { body: { name: 'tickets', ...body } })).authorization_url;

  it('is discovered by a check', async () => {
    const service = await api();
    const { server, issuer } = await startAuthorized(service);
    const check = (url: string) => service.ok('checkMcpOAuth', { body: { mcp_server_url: url } });
    expect(await check(server.url)).toEqual({
      supports_dcr: true,
      authorization_endpoint: `${issuer.url}/authorize`,
      scopes: ['tickets:write'],
    });
    issuer.metadata = { registration_endpoint: undefined };
    expect(await check(server.url)).toMatchObject({ supports_dcr: false, authorization_endpoint: `${issuer.url}/authorize` });
    expect(await check((await mcpServer()).url)).toEqual({ supports_dcr: false });
    const goneAnswer = await service.call('checkMcpOAuth', { body: { mcp_server_url: 'http://127.0.0.1:9/mcp' } });
    expect(failure(goneAnswer)).toEqual([400, 'mcp_server_unreachable']);
    const insideAnswer = await service.call('checkMcpOAuth', { body: { mcp_server_url: 'http://10.0.0.7/' } });
    expect(failure(insideAnswer)).toEqual([400, 'connection_host_not_allowed']);
  });

  /** A server that answers requests for its metadata with this status. */
  async function withoutMetadata(service: Api, status: number): Promise<McpServer> {
    const { server } = await startAuthorized(service);
    const { guard } = server;
    server.guard = (request, response) => {
      if (!request.url?.startsWith('/.well-known/')) return guard(request, response);
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Later</h1>');
      return true;
    };
    return server;
  }

  it.each([404, 500])('is not supported by a server that does not know its metadata (%i)', async (status) => {
    const service = await api();
    const server = await withoutMetadata(service, status);
    expect(await service.ok('checkMcpOAuth', { body: { mcp_server_url: server.url } })).toEqual({ supports_dcr: false });
    const answer = await service.call('authorizeMcpOAuth', { body: { name: 'tickets', mcp_server_url: server.url } });
    expect(failure(answer)).toEqual([400, 'oauth_not_supported']);
  });

  it.each([502, 429])('cannot be discovered if the metadata is not available at the moment (%i)', async (status) => {
    const service = await api();
    const server = await withoutMetadata(service, status);
    for (const answer of [
      await service.call('checkMcpOAuth', { body: { mcp_server_url: server.url } }),
      await service.call('authorizeMcpOAuth', { body: { name: 'tickets', mcp_server_url: server.url } }),
    ]) {
      expect(failure(answer)).toEqual([400, 'mcp_server_unreachable']);
      expect(answer.text).toContain(`it responded with ${status} for its metadata`);
    }
  });

  it('asks for all scopes that the server supports if it does not say which it requires', async () => {
    const service = await api();
    const { server, issuer } = await startAuthorized(service);
    issuer.protect(server, { scope: null });
    const url = new URL(await start(service, { mcp_server_url: server.url }));
    expect(url.searchParams.get('scope')).toBe('tickets:read tickets:write offline_access');
  });

  it('is granted by a person, creates a working connection, and is renewed', async () => {
    const clock = new ManualClock();
    const service = await api({ clock });
    const { server, issuer } = await startAuthorized(service);
    const url = await start(service, { mcp_server_url: server.url, integration_type: 'helpdesk' });
    const authorizationUrl = new URL(url);
    expect(`${authorizationUrl.origin}${authorizationUrl.pathname}`).toBe(`${issuer.url}/authorize`);
    expect(authorizationUrl.searchParams.get('scope')).toBe('tickets:write offline_access');
    expect(authorizationUrl.searchParams.get('resource')).toBe(server.url);
    expect((await service.ok('listConnections')).total).toBe(0);

    const page = await visit(url);
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('The connection tickets can be used now.') });
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    const [createdConnection] = (await service.ok('listConnections')).integrations;
    expect(createdConnection).toMatchObject({
      name: 'tickets',
      type: 'helpdesk',
      auth_method: 'oauth',
      has_oauth_tokens: true,
      oauth_scopes: ['tickets:write', 'offline_access'],
      server_url: server.url,
    });
    const id = createdConnection?.id as string;
    const tools = () => service.ok('listConnectionTools', inputOf(id));
    expect((await tools()).success).toBe(true);
    expect(issuer.forms).toHaveLength(1);
    expect(issuer.clients).toMatchObject([{ client_name: 'aops', token_endpoint_auth_method: 'none' }]);

    clock.advance(3_600_000 - 20_000);
    const toolLists = await Promise.all([tools(), tools(), tools()]);
    expect(toolLists.map(({ success }) => success)).toEqual([true, true, true]);
    expect(issuer.forms.map(({ grant_type }) => grant_type)).toEqual(['authorization_code', 'refresh_token']);

    issuer.tokens.clear();
    expect((await tools()).success).toBe(true);
    expect(issuer.forms).toHaveLength(3);
    const storedState = await storedText(service.dataDirectory);
    for (const token of issuer.tokens) expect(storedState).not.toContain(token);
    expect(storedState).not.toContain(issuer.forms[2]?.refresh_token);
    expect((await service.call('getConnection', inputOf(id))).text).not.toMatch(/at-|rt-/);
  });

  it('has to be granted again when it can no longer be renewed', async () => {
    const service = await api();
    const { server, issuer } = await startAuthorized(service);
    await visit(await start(service, { mcp_server_url: server.url }));
    const id = (await service.ok('listConnections')).integrations[0]?.id as string;
    issuer.tokens.clear();
    issuer.refuseTokens = (response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return true;
    };
    const reason = 'its authorization has ended; a person has to authorize it again';
    expect((await service.ok('listConnectionTools', inputOf(id))).error).toContain(reason);
    expect(await service.ok('getConnection', inputOf(id))).toMatchObject({ broken_reason: reason, has_oauth_tokens: true });
    issuer.refuseTokens = () => false;
    await visit(await start(service, { mcp_server_url: server.url, reconnect_instance_id: id }));
    const integrations = (await service.ok('listConnections')).integrations;
    expect(integrations).toMatchObject([{ id, broken_at: null }]);
    expect((await service.ok('listConnectionTools', inputOf(id))).success).toBe(true);
    // The registered client is still valid.
    expect(issuer.clients).toHaveLength(1);
  });

  it.each<[string, (response: ServerResponse) => unknown, string]>([
    [
      'is not available for a moment',
      (response: ServerResponse) =>
        response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"temporarily_unavailable"}'),
      'its access token could not be renewed at the moment',
    ],
    [
      'fails',
      (response: ServerResponse) => response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":"server_error"}'),
      'its access token could not be renewed at the moment',
    ],
    [
      'is behind a proxy that cannot reach it',
      (response: ServerResponse) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
      'its access token could not be renewed at the moment',
    ],
    ...[408, 425, 429].map(
      (status) =>
        [
          `answers with ${status}`,
          (response: ServerResponse) => response.writeHead(status, { 'content-type': 'text/plain' }).end('Later'),
          'its access token could not be renewed at the moment',
        ] as [string, (response: ServerResponse) => unknown, string],
    ),
    ['does not answer', (response: ServerResponse) => response.destroy(), 'its access token could not be renewed: '],
  ])('remains if the authorization server %s, and is renewed later', async (_, refuse, reason) => {
    const clock = new ManualClock();
    const service = await api({ clock });
    const { server, issuer } = await startAuthorized(service);
    await visit(await start(service, { mcp_server_url: server.url }));
    const id = (await service.ok('listConnections')).integrations[0]?.id as string;
    const tools = () => service.ok('listConnectionTools', inputOf(id));
    clock.advance(3_600_000);
    issuer.refuseTokens = (response) => {
      refuse(response);
      return true;
    };
    expect((await tools()).error).toContain(reason);
    expect((await service.ok('getConnection', inputOf(id))).broken_reason).toContain(reason);
    issuer.refuseTokens = () => false;
    expect(await tools()).toMatchObject({ success: true });
    expect((await service.ok('getConnection', inputOf(id))).broken_reason).toBeNull();
  });

  it('is used until its token expires if it cannot be renewed shortly before', async () => {
    const clock = new ManualClock();
    const service = await api({ clock });
    const { server, issuer } = await startAuthorized(service);
    await visit(await start(service, { mcp_server_url: server.url }));
    const id = (await service.ok('listConnections')).integrations[0]?.id as string;
    issuer.refuseTokens = (response) => {
      response.writeHead(503).end();
      return true;
    };
    clock.advance(3_600_000 - 1);
    expect(await service.ok('listConnectionTools', inputOf(id))).toMatchObject({ success: true });
    expect((await service.ok('getConnection', inputOf(id))).broken_reason).toBeNull();
    clock.advance(1);
    expect(await service.ok('listConnectionTools', inputOf(id))).toMatchObject({ success: false });
  });

  it('has to be granted again if the server has issued no token to renew it', async () => {
    const service = await api({ clock: new ManualClock() });
    const { server, issuer } = await startAuthorized(service);
    issuer.refuseTokens = (response) => {
      issuer.refuseTokens = () => false;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token":"once","token_type":"Bearer"}');
      return true;
    };
    await visit(await start(service, { mcp_server_url: server.url }));
    const id = (await service.ok('listConnections')).integrations[0]?.id as string;
    expect((await service.ok('listConnectionTools', inputOf(id))).error).toContain('a person has to authorize it again');
    expect(issuer.forms).toEqual([]);
  });

  it('is still valid if the headers of the connection are changed while it is renewed', async () => {
    const clock = new ManualClock();
    const service = await api({ clock });
    const { server, issuer } = await startAuthorized(service);
    await visit(await start(service, { mcp_server_url: server.url }));
    const id = (await service.ok('listConnections')).integrations[0]?.id as string;
    issuer.beforeTokens = async () => {
      issuer.beforeTokens = async () => undefined;
      await service.ok('updateConnection', { ...inputOf(id), body: { headers: { plaintext: { 'x-team': 'a' } } } });
    };
    for (const _ of ['first', 'second']) {
      clock.advance(3_600_000);
      expect(await service.ok('listConnectionTools', inputOf(id))).toMatchObject({ success: true });
    }
    expect(issuer.forms.map(({ grant_type }) => grant_type)).toEqual(['authorization_code', 'refresh_token', 'refresh_token']);
  });

  it('is not shown to the previous server if the connection is moved while it is used', async () => {
    const clock = new ManualClock();
    const service = await api({ clock });
    const { server, issuer } = await startAuthorized(service);
    await visit(await start(service, { mcp_server_url: server.url }));
    const id = (await service.ok('listConnections')).integrations[0]?.id as string;
    const [otherServer, otherIssuer] = [await mcpServer(), await AuthorizationServer.start()];
    afterTest(() => otherIssuer.close());
    otherIssuer.protect(otherServer);
    const credentials: (string | undefined)[] = [];
    const check = server.guard;
    server.guard = (request, response) => {
      credentials.push(request.headers.authorization?.replace('Bearer ', ''));
      return check(request, response);
    };
    clock.advance(3_600_000);
    issuer.beforeTokens = async () => {
      await service.ok('updateConnection', { ...inputOf(id), body: { server_url: otherServer.url } });
      await visit(await start(service, { mcp_server_url: otherServer.url, reconnect_instance_id: id }));
    };
    const answer = await service.ok('listConnectionTools', inputOf(id));
    expect([answer.success, answer.error]).toEqual([false, expect.stringContaining('the connection was moved to another server')]);
    expect(credentials.filter((token) => otherIssuer.tokens.has(token ?? ''))).toEqual([]);
    expect(await service.ok('listConnectionTools', inputOf(id))).toMatchObject({ success: true });
    expect(await service.ok('getConnection', inputOf(id))).toMatchObject({ server_url: otherServer.url, broken_at: null });
  });

  it('does not move a connection back to the server at which it was started', async () => {
    const service = await api();
    const { server } = await startAuthorized(service);
    const id = await connect(service, { server_url: server.url, auth_method: 'oauth' });
    const url = await start(service, { mcp_server_url: server.url, reconnect_instance_id: id });
    const otherServer = await mcpServer();
    const headers = { secret: { 'x-key': 'for the other server' } };
    await service.ok('updateConnection', { ...inputOf(id), body: { server_url: otherServer.url, headers } });
    expect(await visit(url)).toMatchObject({ status: 400, text: expect.stringContaining('moved to another server in the meantime') });
    expect(await service.ok('getConnection', inputOf(id))).toMatchObject({ server_url: otherServer.url, has_oauth_tokens: false });
  });

  it('is missing from a connection that was created without it', async () => {
    const service = await api();
    const { server } = await startAuthorized(service);
    const id = await connect(service, { server_url: server.url, auth_method: 'oauth' });
    expect((await service.ok('listConnectionTools', inputOf(id))).error).toContain('has not been authorized yet');
    await visit(await start(service, { mcp_server_url: server.url, reconnect_instance_id: id }));
    expect((await service.ok('listConnectionTools', inputOf(id))).success).toBe(true);
    const otherServer = await mcpServer();
    await service.ok('updateConnection', { ...inputOf(id), body: { server_url: otherServer.url } });
    expect(await service.ok('getConnection', inputOf(id))).toMatchObject({ has_oauth_tokens: false, oauth_scopes: null });
  });

  it('ends at the URL that the caller has chosen', async () => {
    const service = await api();
    const { server } = await startAuthorized(service);
    const returnUrl = await serveAnswer(200, {}, 'back');
    const url = await start(service, { mcp_server_url: server.url, return_url: `${returnUrl}?a=1` });
    const finalUrl = new URL((await visit(url)).url);
    expect(`${finalUrl.origin}${finalUrl.pathname}`).toBe(returnUrl);
    const [createdConnection] = (await service.ok('listConnections')).integrations;
    expect(Object.fromEntries(finalUrl.searchParams)).toEqual({ a: '1', connection_id: createdConnection?.id });
    const deniedUrl = new URL(await start(service, { mcp_server_url: server.url, return_url: returnUrl }));
    deniedUrl.searchParams.set('deny', '1');
    expect(new URL((await visit(deniedUrl.href)).url).searchParams.get('error')).toBe('The authorization failed: access_denied.');
  });

  it('is forgotten if nobody has completed it in time', async () => {
    const clock = new ManualClock();
    const service = await api({ clock });
    const { server } = await startAuthorized(service);
    for (const name of ['first', 'second']) await start(service, { mcp_server_url: server.url, name });
    clock.advance(24 * 3_600_000);
    await start(service, { mcp_server_url: server.url, name: 'third' });
    await service.service.close();
    expect(await storedRows(service.dataDirectory, 'select name from oauth_flows')).toEqual([{ name: 'third' }]);
  });

  it('fails if it is refused, forged, used twice, or too late', async () => {
    const clock = new ManualClock();
    const entries: LogEntry[] = [];
    const service = await api({ clock, log: (entry) => entries.push(entry) });
    const { server, issuer } = await startAuthorized(service);
    const url = async () => new URL(await start(service, { mcp_server_url: server.url }));
    const callback = (query: string) => visit(`${service.service.url}/oauth/callback${query}`);
    const unknownAuthorization = { status: 400, text: expect.stringContaining('This authorization is unknown') };
    expect(await callback('')).toMatchObject(unknownAuthorization);
    expect(await callback('?state=x&code=y')).toMatchObject(unknownAuthorization);

    const deniedUrl = await url();
    deniedUrl.searchParams.set('deny', '1');
    expect(await visit(deniedUrl.href)).toMatchObject({ status: 400, text: expect.stringContaining('access_denied') });

    const forgedUrl = await url();
    const state = forgedUrl.searchParams.get('state') as string;
    const page = await callback(`?state=${state}&error_description=${encodeURIComponent('<script>alert(1)</script>')}`);
    expect(page).toMatchObject({ status: 400, text: expect.not.stringContaining('<script') });

    const mixedState = (await url()).searchParams.get('state') as string;
    const mixedAnswer = await callback(`?state=${mixedState}&code=abc&iss=${encodeURIComponent('http://evil.test')}`);
    expect(mixedAnswer).toMatchObject({ status: 400, text: expect.stringContaining('could not be completed') });
    const guessedState = (await url()).searchParams.get('state') as string;
    expect(await callback(`?state=${guessedState}&code=abc&iss=${encodeURIComponent(issuer.url)}`)).toMatchObject({ status: 400 });
    expect(entries.filter(({ level }) => level === 'warn').map(({ message, fields: logged }) => [message, logged?.server])).toEqual(
      Array(2).fill(['a code could not be exchanged for tokens', issuer.url]),
    );

    issuer.refuseTokens = (response) => {
      issuer.refuseTokens = () => false;
      response.writeHead(502).end();
      return true;
    };
    const outageUrl = (await url()).href;
    const outage = 'could not be completed: the authorization server responded with 502. Start it again later.';
    expect(await visit(outageUrl)).toMatchObject({ status: 400, text: expect.stringContaining(outage) });

    const singleUseUrl = await url();
    const head = await fetch(`${service.service.url}/oauth/callback?state=${singleUseUrl.searchParams.get('state')}&code=x`, {
      method: 'HEAD',
    });
    expect(head.status).toBe(200);
    const first = await visit(singleUseUrl.href);
    expect(first.status).toBe(200);
    expect(await visit(first.url)).toMatchObject(unknownAuthorization);

    const lateUrl = await url();
    clock.advance(15 * 60_000);
    expect(await visit(lateUrl.href)).toMatchObject(unknownAuthorization);
    const deletedId = (await service.ok('listConnections')).integrations[0]?.id as string;
    const secondUrl = await start(service, { mcp_server_url: server.url, reconnect_instance_id: deletedId });
    await service.ok('deleteConnection', inputOf(deletedId));
    expect(await visit(secondUrl)).toMatchObject({ status: 400, text: expect.stringContaining('deleted in the meantime') });
    expect((await service.ok('listConnections')).total).toBe(0);
  });

  it.each([
    ['a server that says nothing of it', {}, {}, 400, 'oauth_not_supported', true],
    ['no registration', {}, { registration_endpoint: undefined }, 400, 'oauth_registration_not_supported', false],
    ['no proof of the code', {}, { code_challenge_methods_supported: ['plain'] }, 400, 'oauth_failed', false],
    ['another issuer', {}, { issuer: 'http://evil.test' }, 400, 'oauth_not_supported', false],
    ['an address that is a script', {}, { authorization_endpoint: 'javascript:alert(1)' }, 400, 'oauth_not_supported', false],
    ['an address that is no web page', {}, { authorization_endpoint: 'file:///etc/passwd' }, 400, 'oauth_not_supported', false],
    ['an address that starts a program', {}, { authorization_endpoint: 'ms-help:x' }, 400, 'oauth_not_supported', false],
    ['a registration inside the network', {}, { registration_endpoint: 'http://10.0.0.7/register' }, 400, 'oauth_failed', false],
    ['a return to something else than an address', { return_url: 'nowhere' }, {}, 400, 'invalid_request', false],
    ['a return to nowhere', { return_url: 'javascript:alert(1)' }, {}, 400, 'invalid_request', false],
    ['an unknown connection', { reconnect_instance_id: randomUUID() }, {}, 404, 'connection_not_found', false],
    ['a custom integration', { custom_integration_id: randomUUID() }, {}, 404, 'custom_integration_not_found', false],
    ['a host that may not be reached', { mcp_server_url: 'http://10.0.0.7/' }, {}, 400, 'connection_host_not_allowed', false],
  ])('cannot be started with %s', async (_, body, metadata, status, error, isBare) => {
    const service = await api();
    const { server, issuer } = await startAuthorized(service);
    issuer.metadata = metadata;
    const mcp_server_url = isBare ? (await mcpServer()).url : server.url;
    const refusal = await service.call('authorizeMcpOAuth', { body: { name: 'tickets', mcp_server_url, ...body } });
    expect(failure(refusal)).toEqual([status, error]);
  });

  it('reports what is wrong with a registration', async () => {
    const service = await api();
    const { server, issuer } = await startAuthorized(service);
    issuer.metadata = { registration_endpoint: await serveAnswer(201, { 'content-type': 'application/json' }, '{}') };
    const refusal = await service.call('authorizeMcpOAuth', { body: { name: 'tickets', mcp_server_url: server.url } });
    expect(failure(refusal)).toEqual([400, 'oauth_failed']);
    expect(refusal.text).toMatch(/could not be started: redirect_uris: .*expected array/);
  });

  it('is not started for a server that identifies itself as another one, or for a connection to another host', async () => {
    const service = await api();
    const { server, issuer } = await startAuthorized(service);
    issuer.protect(server, { resource: 'https://bank.example.com/mcp' });
    const body = { name: 'tickets', mcp_server_url: server.url };
    const refusal = await service.call('authorizeMcpOAuth', { body });
    expect(failure(refusal)).toEqual([400, 'oauth_failed']);
    expect(refusal.text).toContain('bank.example.com');
    const otherId = await connect(service);
    const moveAnswer = await service.call('authorizeMcpOAuth', { body: { ...body, reconnect_instance_id: otherId } });
    expect(failure(moveAnswer)).toEqual([400, 'invalid_request']);
  });

  it('does not exist for built-in providers', async () => {
    const service = await api();
    const refusal = await service.call('startNativeOAuth', { params: { provider: 'google' }, body: {} });
    expect(failure(refusal)).toEqual([404, 'oauth_provider_not_found']);
    expect(refusal.text).toContain('google');
  });
});
