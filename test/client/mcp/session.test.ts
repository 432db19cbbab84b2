import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server as LegacyServer } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { OutcomeUnknownError, ServiceAnswerError } from '../../../src/client/errors.ts';
import { RpcError } from '../../../src/client/mcp/errors.ts';
import { McpSession } from '../../../src/client/mcp/session.ts';
import { callTool, type ListedTool, listTools } from '../../../src/client/mcp/tools.ts';
import { answer, json, partial, type RecordedRequest, raw, reply } from '../../faults/raw-server.ts';
import { startApi } from '../../service/helpers/service.ts';
import { afterTest } from '../../support/temporary.ts';
import { failureOf, newClient, scriptedServer } from '../harness.ts';

const identity = { name: 'test', version: '1' };
const readRequest = (method: string, params?: Record<string, unknown>) => ({ method, mutates: false, ...(params ? { params } : {}) });
const change = (method: string, params?: Record<string, unknown>) => ({ ...readRequest(method, params), mutates: true });

const sessionAt = (url: string): McpSession => new McpSession(newClient(url).client, identity);

const messageOf = ({ body }: RecordedRequest) =>
  JSON.parse(body.toString('utf8')) as { id?: string; method: string; params?: Record<string, unknown> };
/** An answer to any request. */
const result = (value: Record<string, unknown>, headers: Record<string, string> = {}) =>
  reply((request) => json(200, { jsonrpc: '2.0', id: messageOf(request).id, result: value }, headers));
const rpcFailure = (status: number, code: number, message = 'no', data?: unknown) =>
  json(status, { jsonrpc: '2.0', id: null, error: { code, message, ...(data === undefined ? {} : { data }) } });
const events = (...chunks: string[]) => answer(200, chunks.join(''), { 'content-type': 'text/event-stream' });

describe('the modern era', () => {
  it("needs one request, which contains the client's identity and the version", async () => {
    const server = await scriptedServer(result({ tools: [] }));
    expect(await sessionAt(server.url).request(readRequest('tools/list'))).toEqual({ tools: [] });
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests as [RecordedRequest];
    expect([request.method, request.path]).toEqual(['POST', '/v2/mcp']);
    expect(request.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
    });
    expect(request.headers['idempotency-key']).toBeUndefined();
    expect(messageOf(request).params?._meta).toMatchObject({ 'io.modelcontextprotocol/clientInfo': identity });
  });

  it('sends a key with changes, and the same bytes for the same message', async () => {
    const bodies: string[] = [];
    for (let time = 0; time < 2; time++) {
      const server = await scriptedServer(result({}), result({}));
      const session = sessionAt(server.url);
      await session.request(change('tools/call', { name: 'grüße', arguments: {} }));
      await session.request(change('tools/call', { name: 'b' }));
      const [first, second] = server.requests as [RecordedRequest, RecordedRequest];
      expect(first.headers['idempotency-key']).toMatch(/^aops-/);
      expect(second.headers['idempotency-key']).not.toBe(first.headers['idempotency-key']);
      expect(first.headers['mcp-name']).toBe(`=?base64?${Buffer.from('grüße').toString('base64')}?=`);
      expect(messageOf(second).id).not.toBe(messageOf(first).id);
      bodies.push(first.body.toString());
    }
    expect(bodies[0]).toBe(bodies[1]);
  });

  it('sends a key with calls of tools, except those that only read', async () => {
    const server = (await scriptedServer()).always(result({ content: [] }));
    const session = sessionAt(server.url);
    const inputSchema = {} as ListedTool['inputSchema'];
    await callTool(session, { name: 'read', inputSchema, annotations: { readOnlyHint: true } }, {});
    await callTool(session, { name: 'write', inputSchema }, {});
    expect(server.requests.map(({ headers }) => headers['idempotency-key'] !== undefined)).toEqual([false, true]);
  });

  it('reports failures with and without a status', async () => {
    const server = await scriptedServer(result({}), rpcFailure(200, -32_602, 'wrong name'), rpcFailure(404, -32_601, 'Method not found'));
    const session = sessionAt(server.url);
    await session.request(readRequest('tools/list'));
    const plain = await failureOf<RpcError>(session.request(readRequest('tools/call')));
    expect(plain).toBeInstanceOf(RpcError);
    expect(plain).toMatchObject({ message: 'wrong name', code: 'invalid_params', exit: 2 });
    const failure = await failureOf<ServiceAnswerError>(session.request(readRequest('x')));
    expect(failure).toBeInstanceOf(ServiceAnswerError);
    expect(failure).toMatchObject({ message: 'Method not found', code: 'method_not_found', exit: 3, status: 404 });
    expect(server.requests).toHaveLength(3);
  });

  it('is believed when it reports an invalid request', async () => {
    for (const code of [-32_020, -32_602, -32_021]) {
      const server = await scriptedServer(rpcFailure(400, code));
      expect(await failureOf(sessionAt(server.url).request(readRequest('tools/list')))).toMatchObject({ exit: 2 });
      expect(server.requests).toHaveLength(1);
    }
    const server = await scriptedServer(rpcFailure(400, -32_022, 'unsupported', { supported: ['2099-01-01'] }));
    expect(await failureOf(sessionAt(server.url).request(readRequest('tools/list')))).toMatchObject({ code: 'unsupported_version' });
  });
});

describe('a service of the legacy era', () => {
  it('gets `initialize` after it has refused a request, and the session is reused and ended', async () => {
    const { url, requests } = await legacyServer();
    const session = sessionAt(url);
    const tools = await listTools(session);
    expect(tools.map(({ name }) => name)).toEqual(['add', 'fail']);
    const add = tools[0] as ListedTool;
    expect(await callTool(session, add, { a: 2, b: 3 })).toEqual({ content: [{ type: 'text', text: '5' }] });
    expect(await callTool(session, tools[1] as ListedTool, {})).toMatchObject({ isError: true });
    await session.close();
    expect(requests.map(({ method, session: id }) => [method, id !== undefined])).toEqual([
      ['tools/list', false],
      ['initialize', false],
      ['notifications/initialized', true],
      ['tools/list', true],
      ['tools/call', true],
      ['tools/call', true],
      ['DELETE', true],
    ]);
    expect(new Set(requests.slice(2).map(({ version }) => version))).toEqual(new Set(['2025-11-25']));
  });

  it.each([
    [404, -32_000, true],
    [404, -32_601, false],
    [406, -32_000, true],
    [409, -32_000, false],
  ])('is recognized by the refusal %i with %i: %s', async (status, code, isLegacy) => {
    const server = await scriptedServer(rpcFailure(status, code), result({}), answer(202, ''), result({ tools: [] }));
    const outcome = await listTools(sessionAt(server.url)).catch(() => 'refused');
    expect(outcome).toEqual(isLegacy ? [] : 'refused');
    expect(server.requests).toHaveLength(isLegacy ? 4 : 1);
  });

  it('is told the end of a session only if it has started one', async () => {
    const server = await scriptedServer(
      rpcFailure(400, -32_600),
      result({ protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} }),
      answer(202, ''),
      result({ tools: [] }),
    );
    const session = sessionAt(server.url);
    await listTools(session);
    await session.close();
    expect(server.requests.map(({ method }) => method)).toEqual(Array.from({ length: 4 }, () => 'POST'));
  });

  it('is assumed to have the version that was requested if it names none', async () => {
    const server = await scriptedServer(
      rpcFailure(400, -32_600),
      result({}, { 'mcp-session-id': 's' }),
      answer(202, ''),
      result({ tools: [] }),
    );
    await listTools(sessionAt(server.url));
    const { params } = messageOf(server.requests[1] as RecordedRequest);
    expect(server.requests[3]?.headers['mcp-protocol-version']).toBe(params?.protocolVersion);
  });

  it.each([[['2025-11-25']], [['2025-06-18']], [['2099-01-01', '2025-11-25', 1]]])(
    'is recognised by the versions %j',
    async (supported) => {
      const server = await scriptedServer(
        rpcFailure(400, -32_022, 'unsupported', { supported }),
        result({ protocolVersion: '2025-06-18' }, { 'mcp-session-id': 'one' }),
        answer(202, ''),
        result({ tools: [] }),
      );
      await sessionAt(server.url).request(readRequest('tools/list'));
      expect(server.requests.map((request) => messageOf(request).method)).toEqual([
        'tools/list',
        'initialize',
        'notifications/initialized',
        'tools/list',
      ]);
    },
  );

  it('can forget the session: a new one is started once, and the request is sent again', async () => {
    const greeting = result({ protocolVersion: '2025-06-18' }, { 'mcp-session-id': 'one' });
    const acceptance = answer(202, '');
    const server = await scriptedServer(
      rpcFailure(400, -32_000, 'Server not initialized'),
      greeting,
      acceptance,
      result({ tools: [] }),
      rpcFailure(404, -32_001),
      greeting,
      acceptance,
      result({ ok: true }),
      rpcFailure(404, -32_001),
      greeting,
      acceptance,
      rpcFailure(404, -32_001),
    );
    const session = sessionAt(server.url);
    await session.request(readRequest('tools/list'));
    expect(await session.request(change('tools/call'))).toEqual({ ok: true });
    expect(await failureOf(session.request(change('tools/call')))).toMatchObject({ status: 404 });
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']).filter((key) => key !== undefined);
    // Refused requests were not carried out; what is sent again has a key of its own, for it is another request.
    expect(new Set(keys).size).toBe(4);
    expect(server.requests.at(-1)?.headers['mcp-protocol-version']).toBe('2025-06-18');
  });

  it('can refuse without an error status', async () => {
    const server = await scriptedServer(
      rpcFailure(200, -32_002),
      result({ protocolVersion: '2025-03-26' }),
      answer(202, ''),
      result({ tools: [] }),
    );
    expect(await sessionAt(server.url).request(readRequest('tools/list'))).toEqual({ tools: [] });
    expect(server.requests[3]?.headers['mcp-session-id']).toBeUndefined();
  });

  it('is not tried when the credential is rejected, or there is no service', async () => {
    for (const status of [401, 403, 404]) {
      const server = await scriptedServer(json(status, { error: 'no', message: 'no' }));
      expect(await failureOf(sessionAt(server.url).request(readRequest('tools/list')))).toMatchObject({ status });
      expect(server.requests).toHaveLength(1);
    }
  });
});

describe('a response that is an event stream', () => {
  const message = (body: unknown): string => `event: message\ndata: ${JSON.stringify(body)}\n\n`;
  const progress = message({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } });
  const doneMessage = message({ jsonrpc: '2.0', id: 'tools/call', result: { ok: true } });

  it('ends with the response, whatever surrounds it', async () => {
    for (const chunks of [
      [doneMessage],
      [': hello\n\n', progress, 'event: ping\ndata: {}\n\n', doneMessage],
      [doneMessage.replaceAll('\n', '\r\n')],
      [doneMessage.trimEnd()],
    ]) {
      const server = await scriptedServer(events(...chunks));
      expect(await sessionAt(server.url).request(change('tools/call'))).toEqual({ ok: true });
    }
  });

  it('is complete with the answer even if the stream stays open', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
    const server = await scriptedServer(raw(`${head}${progress}${doneMessage}`, 'stall'));
    expect(await sessionAt(server.url).request(change('tools/call'))).toEqual({ ok: true });
  });

  it('can contain the answer to another request', async () => {
    const server = await scriptedServer(events(message({ jsonrpc: '2.0', id: 'other', result: { not: 'mine' } }), doneMessage));
    expect(await sessionAt(server.url).request(change('tools/call'))).toEqual({ ok: true });
  });

  it('is requested again with the same key when it ends without the answer to a change', async () => {
    const server = await scriptedServer(
      events(progress),
      partial(200, 1_000, progress, 'close', { 'content-type': 'text/event-stream' }),
      events(doneMessage),
    );
    expect(await sessionAt(server.url).request(change('tools/call'))).toEqual({ ok: true });
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);

    const endlessServer = await scriptedServer(...Array.from({ length: 4 }, () => events(progress)));
    expect(await failureOf(sessionAt(endlessServer.url).request(change('tools/call')))).toBeInstanceOf(OutcomeUnknownError);
  });
});

it('works with the local service', async () => {
  const api = await startApi();
  const { client } = newClient(api.service.url, { credential: { authorization: async () => `Bearer ${api.service.token}` } });
  const session = new McpSession(client, identity);
  const tools = await listTools(session);
  const start = tools.find(({ name }) => name === 'start_run') as ListedTool;
  const { structuredContent } = await callTool(session, start, { agent_id: await api.agent() });
  expect(structuredContent).toMatchObject({ run: { agent_id: expect.any(String) } });
});

interface SeenRequest {
  method: string;
  session: string | undefined;
  version: string | undefined;
}

/** An official server of the legacy era, with sessions and streams. */
async function legacyServer(): Promise<{ url: string; requests: SeenRequest[] }> {
  const seenRequests: SeenRequest[] = [];
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    const session = request.headers['mcp-session-id'] as string | undefined;
    const version = request.headers['mcp-protocol-version'] as string | undefined;
    seenRequests.push({ method: (body as { method?: string } | undefined)?.method ?? request.method ?? '', session, version });
    let transport = session === undefined ? undefined : transports.get(session);
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void transports.set(id, transport as StreamableHTTPServerTransport),
      });
      const mcp = new LegacyServer({ name: 'before', version: '1' }, { capabilities: { tools: {} } });
      const inputSchema = { type: 'object' as const };
      mcp.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: ['add', 'fail'].map((name) => ({ name, inputSchema })) }));
      mcp.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {} } }) => {
        if (name === 'fail') return { isError: true, content: [{ type: 'text' as const, text: 'out of order' }] };
        return { content: [{ type: 'text' as const, text: String(Number(args.a) + Number(args.b)) }] };
      });
      await mcp.connect(transport as Transport);
    }
    await transport.handleRequest(request, response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterTest(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: seenRequests };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString('utf8'));
}
