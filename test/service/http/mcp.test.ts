import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../src/service/service.ts';
import { eventually } from '../../support/eventually.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import type { Behaviour } from '../helpers/runtime.ts';
import type { Api } from '../helpers/service.ts';
import { alterStored } from '../helpers/stored.ts';

const startApi = covers('mcp');
const acceptHeader = 'application/json, text/event-stream';
const unknownId = '00000000-0000-4000-8000-000000000000';

interface Message {
  jsonrpc: '2.0';
  id?: string | number | null;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

interface McpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  body: Message;
}

/** Posts a message of the protocol; a string is sent unchanged. Resolves to the response as soon as its headers have arrived. */
async function beginRequest(api: Api, message: unknown, headers: Record<string, string | undefined> = {}, signal?: AbortSignal) {
  const requestHeaders = {
    authorization: `Bearer ${api.service.token}`,
    'content-type': 'application/json',
    accept: acceptHeader,
    ...headers,
  };
  const response = await request(`${api.service.url}/v2/mcp`, {
    method: 'POST',
    headers: Object.fromEntries(Object.entries(requestHeaders).filter((entry): entry is [string, string] => entry[1] !== undefined)),
    body: typeof message === 'string' ? message : JSON.stringify(message),
    ...(signal === undefined ? {} : { signal }),
  });
  for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset']) expect(response.headers[name]).toMatch(/^\d+$/);
  return response;
}

/** The same, with the whole response. */
async function post(api: Api, message: unknown, headers?: Record<string, string | undefined>, signal?: AbortSignal): Promise<McpAnswer> {
  const response = await beginRequest(api, message, headers, signal);
  const text = await response.body.text();
  const isJson = response.headers['content-type']?.includes('json');
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as Message) : (undefined as never),
  };
}

const rpc = (method: string, params?: unknown, id: string | number = 1) => ({ jsonrpc: '2.0', id, method, ...(params ? { params } : {}) });
const handshake = (protocolVersion = '2025-11-25') =>
  rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } }, 0);

const modernVersion = '2026-07-28';
/** A request of the current protocol version, with the required headers. */
function modernRequest(method: string, params: Record<string, unknown> = {}, id: string | number = 1): [unknown, Record<string, string>] {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modernVersion,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(params._meta as object | undefined),
  };
  const name: Record<string, string> = typeof params.name === 'string' ? { 'mcp-name': params.name } : {};
  return [rpc(method, { ...params, _meta }, id), { 'mcp-protocol-version': modernVersion, 'mcp-method': method, ...name }];
}

interface ToolResult {
  content: { type: string; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: boolean;
}

/** Calls a tool with an earlier protocol version. */
async function tool(api: Api, name: string, args: Record<string, unknown> = {}): Promise<ToolResult> {
  const { status, body, text } = await post(api, rpc('tools/call', { name, arguments: args }));
  expect(status, text).toBe(200);
  return body.result as unknown as ToolResult;
}

/** Asks for an approval, and completes when it is answered. */
const askBehaviour: Behaviour = async (host) =>
  host.answer('q') === undefined
    ? { status: 'waiting', step: 'q', request: { type: 'approval', title: 'Pay it?' } }
    : { status: 'completed' };

/** Runs until it is stopped. */
const stuckBehaviour: Behaviour = ({ signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

/** The result of a waiting call, once it waits. */
async function whileTimePasses<Value>(clock: WatchedClock, work: Promise<Value>): Promise<Value> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  const before = clock.pauses;
  await eventually('the call waits', () => clock.pauses > before || isOver);
  while (!isOver) {
    clock.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return work;
}

const questionBehaviour: Behaviour = async () => ({
  status: 'waiting',
  step: 'q',
  request: { type: 'question', title: 'Which?', questions: [{ question: 'Which?' }] },
});

/** Changes the data of a service without its knowledge. */
const alter = (api: Api, statements: string): Promise<void> => alterStored(api.dataDirectory, statements);

/** Observes the pauses of `wait_for_run`: the first pause of a call takes 50 ms. */
class WatchedClock extends ManualClock {
  pauses = 0;
  pausing = 0;

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms !== 50) return super.sleep(ms, signal);
    this.pauses++;
    this.pausing++;
    return super.sleep(ms, signal).finally(() => {
      this.pausing--;
    });
  }
}

describe('the transport, in both generations of the protocol', () => {
  it('is an operation of the interface', async () => {
    const api = await startApi();
    const answer = await api.call('callMcp', { body: rpc('ping', undefined, 0), headers: { accept: acceptHeader } });
    expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 0, result: {} }]);
    const getAnswer = await api.call('getMcp');
    expect([getAnswer.status, getAnswer.headers.allow]).toEqual([405, 'POST']);
    expect(getAnswer.body).toMatchObject({ error: 'method_not_allowed' });
  });

  it('starts with initialize in every earlier version', async () => {
    const api = await startApi();
    for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
      const { status, body, headers } = await post(api, handshake(version));
      expect([status, body.id, body.result?.protocolVersion]).toEqual([200, 0, version]);
      expect(body.result).toMatchObject({ capabilities: { tools: {} }, serverInfo: { name: 'aops' } });
      expect(headers['mcp-session-id']).toBeUndefined();
      const result = await post(api, { jsonrpc: '2.0', method: 'notifications/initialized' }, { 'mcp-protocol-version': version });
      expect([result.status, result.text, result.headers['content-type']]).toEqual([202, '', undefined]);
    }
    // An unknown version is answered with the newest one.
    expect((await post(api, handshake('1999-01-01'))).body.result?.protocolVersion).toBe('2025-11-25');
  });

  it('needs no initialization in the current version', async () => {
    const api = await startApi();
    const discovery = await post(api, ...modernRequest('server/discover'));
    expect(discovery.body.result).toMatchObject({ supportedVersions: [modernVersion], capabilities: { tools: {} } });
    const toolList = await post(api, ...modernRequest('tools/list', {}, 0));
    expect([toolList.status, toolList.body.id]).toEqual([200, 0]);
    const [cancel] = modernRequest('notifications/cancelled', { requestId: 1 });
    const result = await post(api, { ...(cancel as object), id: undefined }, { 'mcp-protocol-version': modernVersion });
    expect([result.status, result.text]).toEqual([202, '']);
  });

  it('answers many messages at the same time', async () => {
    const api = await startApi();
    const ids = Array.from({ length: 10 }, (_, id) => id);
    const answers = await Promise.all(ids.map((id) => post(api, rpc('tools/list', undefined, id))));
    expect(answers.map(({ status, body }) => [status, body.id])).toEqual(ids.map((id) => [200, id]));
  });

  it('returns IDs unchanged', async () => {
    const api = await startApi();
    for (const id of [0, -1, 1, '1', '0', 'a b']) {
      expect((await post(api, rpc('ping', undefined, id))).body).toEqual({ jsonrpc: '2.0', id, result: {} });
      expect((await post(api, ...modernRequest('server/discover', {}, id))).body.id).toBe(id);
    }
  });

  it('requires an Accept header with both content types', async () => {
    const api = await startApi();
    for (const accept of [undefined, 'application/json', 'text/event-stream', 'text/html', 'application/json, text/event-stream;q=0']) {
      const [message, headers] = modernRequest('tools/list');
      for (const answer of [await post(api, rpc('ping'), { accept }), await post(api, message, { ...headers, accept })])
        expect([answer.status, answer.body.id, answer.body.error?.code]).toEqual([406, 1, -32_000]);
    }
    for (const accept of ['*/*', 'text/event-stream, application/json;q=0.5', 'application/*, text/*'])
      expect((await post(api, rpc('ping'), { accept })).status).toBe(200);
  });

  it('requires JSON', async () => {
    const api = await startApi();
    for (const type of [undefined, 'text/plain', 'application/x-www-form-urlencoded'])
      expect((await post(api, rpc('ping'), { 'content-type': type })).status).toBe(415);
    expect((await post(api, rpc('ping'), { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200);
    for (const text of ['{', '', '{"jsonrpc":"2.0"', '\u0000']) {
      const { status, body } = await post(api, text);
      expect([status, body.id, body.error?.code]).toEqual([400, null, -32_700]);
    }
    for (const message of [1, null, 'x'.repeat(10), {}, { jsonrpc: '1.0', id: null, method: 'ping' }, [], [1]])
      expect((await post(api, JSON.stringify(message))).body).toMatchObject({ id: null, error: { code: -32_600 } });
    const tooLarge = await post(api, rpc('ping', { text: 'x'.repeat(1024 * 1024) }));
    expect([tooLarge.status, tooLarge.body.error]).toEqual([413, 'body_too_large']);
  });

  it('knows the versions of the protocol', async () => {
    const api = await startApi();
    const old = await post(api, rpc('ping'), { 'mcp-protocol-version': '1999-01-01' });
    expect([old.status, old.body.error?.code]).toEqual([400, -32_000]);
    const [message, headers] = modernRequest('tools/list');
    const mismatch = await post(api, message, { ...headers, 'mcp-protocol-version': '2025-11-25' });
    expect([mismatch.status, mismatch.body.error?.code]).toEqual([400, -32_020]);
    const futureMessage = JSON.parse(JSON.stringify(message).replaceAll(modernVersion, '2099-01-01')) as unknown;
    const unsupportedAnswer = await post(api, futureMessage, { ...headers, 'mcp-protocol-version': '2099-01-01' });
    expect([unsupportedAnswer.status, unsupportedAnswer.body.error]).toMatchObject([
      400,
      { code: -32_022, data: { supported: [modernVersion] } },
    ]);
    const unnamedAnswer = await post(api, ...[modernRequest('tools/call', { name: 'list_agents' })[0], headers]);
    expect([unnamedAnswer.status, unnamedAnswer.body.error?.code]).toEqual([400, -32_020]);
  });

  it('has no sessions: a session ID is unknown, or ignored in the current version', async () => {
    const api = await startApi();
    const unknownSession = await post(api, rpc('tools/list', undefined, 'a'), { 'mcp-session-id': 'of-another-service' });
    expect([unknownSession.status, unknownSession.body.id, unknownSession.body.error?.code]).toEqual([404, 'a', -32_001]);
    const [message, headers] = modernRequest('tools/list');
    expect((await post(api, message, { ...headers, 'mcp-session-id': 'x' })).status).toBe(200);
  });

  it('accepts batches only in the one version that has them', async () => {
    const api = await startApi();
    const batch = [rpc('ping', undefined, 0), { jsonrpc: '2.0', method: 'notifications/initialized' }, rpc('ping', undefined, 'b')];
    for (const headers of [{}, { 'mcp-protocol-version': '2025-03-26' }]) {
      const { status, text } = await post(api, batch, headers);
      expect([status, (JSON.parse(text) as Message[]).map(({ id }) => id)]).toEqual([200, [0, 'b']]);
    }
    for (const version of ['2025-06-18', '2025-11-25', modernVersion]) {
      const { status, body } = await post(api, batch, { 'mcp-protocol-version': version });
      expect([status, body.error?.code]).toEqual([400, -32_600]);
    }
  });

  it('reports unknown methods as each version of the protocol does', async () => {
    const api = await startApi();
    const before = await post(api, rpc('nothing/here'));
    expect([before.status, before.body.error?.code]).toEqual([200, -32_601]);
    const now = await post(api, ...modernRequest('nothing/here'));
    expect([now.status, now.body.error?.code]).toEqual([404, -32_601]);
  });

  it('only accepts POST', async () => {
    const api = await startApi();
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH'])
      expect((await api.send(method, '/v2/mcp', { headers: { accept: acceptHeader } })).status).toBe(405);
  });

  it('refuses pages of other origins, other hosts, and requests without a credential', async () => {
    const api = await startApi();
    for (const origin of ['http://evil.example', 'http://localhost:6274']) {
      const { status, body } = await post(api, handshake(), { origin });
      expect([status, body.error], origin).toEqual([403, 'origin_not_allowed']);
    }
    const host = await post(api, handshake(), { host: 'evil.example' });
    expect([host.status, host.body.error]).toEqual([403, 'host_not_allowed']);
    expect((await post(api, handshake(), { origin: api.service.url })).status).toBe(200);
    const strangerAnswer = await post(api, handshake(), { authorization: 'Bearer wrong' });
    expect([strangerAnswer.status, strangerAnswer.headers['www-authenticate']]).toEqual([
      401,
      expect.stringMatching(/^Bearer error="invalid_token", resource_metadata="http.*\/\.well-known\/oauth-protected-resource\/v2\/mcp"$/),
    ]);
  });

  it('counts against the rate limit', async () => {
    const api = await startApi({ clock: new ManualClock(), rateLimit: { limit: 1, windowSeconds: 60 } });
    expect((await post(api, rpc('ping'))).status).toBe(200);
    const limitedAnswer = await post(api, rpc('ping'));
    expect([limitedAnswer.status, limitedAnswer.headers['retry-after']]).toEqual([429, '60']);
  });
});

describe('tools', () => {
  it('are described: closed schemas, and hints for those that change something', async () => {
    const api = await startApi();
    const { body } = await post(api, rpc('tools/list'));
    const tools = body.result?.tools as {
      name: string;
      description: string;
      inputSchema: Record<string, unknown>;
      annotations: Record<string, boolean>;
    }[];
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['start_run', 'get_run', 'respond_to_human_request', 'wait_for_run', 'read_file']));
    expect(new Set(names).size).toBe(names.length);
    for (const { name, description, inputSchema, annotations } of tools) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(description).toMatch(/\.$/);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(Object.keys(annotations).sort()).toEqual(['destructiveHint', 'idempotentHint', 'openWorldHint', 'readOnlyHint', 'title']);
    }
    const namesWithHint = (hint: string) => tools.filter(({ annotations }) => annotations[hint]).map(({ name }) => name);
    expect(namesWithHint('destructiveHint').sort()).toEqual(['respond_to_human_request', 'stop_run']);
    expect(names.filter((name) => !namesWithHint('readOnlyHint').includes(name)).sort()).toEqual([
      'create_case',
      'respond_to_human_request',
      'send_message',
      'start_run',
      'stop_run',
    ]);
  });

  it('start, list, follow, and stop runs', async () => {
    const api = await startApi({ behaviours: { asking: askBehaviour, stuck: stuckBehaviour } });
    const agent = await api.agent('asking', 'Asker');
    expect((await tool(api, 'list_agents')).content[0]?.text).toBe(`1 of 1 agents:\n- Asker (${agent})`);
    const startResult = await tool(api, 'start_run', { agent_id: agent, message: 'go' });
    const run = (startResult.structuredContent.run as { id: string }).id;
    const waitResult = await tool(api, 'wait_for_run', { run_id: run });
    expect(waitResult.structuredContent).toMatchObject({ run: { id: run, status: 'waiting' }, still_running: false });
    const request = (waitResult.structuredContent.pending_human_request as { id: string }).id;
    expect(waitResult.content[0]?.text).toContain(`human request ${request}`);
    const listResult = await tool(api, 'list_human_requests');
    expect(listResult.structuredContent).toMatchObject({ total: 1, data: [{ id: run, pending_human_request: { id: request } }] });

    // A message would be the answer, although nobody has decided.
    const message = await tool(api, 'send_message', { run_id: run, message: 'looks good' });
    expect(message).toMatchObject({ isError: true, structuredContent: { error: 'human_request_pending' } });
    expect(message.content[0]?.text).toMatch(
      /^human_request_pending: .*Only the user can answer it: call respond_to_human_request, or ask the user to answer\.$/,
    );
    // No caller can answer, although this credential could with the operation of the interface.
    for (const attempt of [{}, { approved: true }, { approved: 'yes' }, { answers: {} }, { reason: 'ok' }]) {
      const refusal = await tool(api, 'respond_to_human_request', { run_id: run, request_id: request, ...attempt });
      expect(refusal.isError).toBe(true);
      expect(['person_required', 'invalid_request']).toContain(refusal.structuredContent.error);
    }
    const refusal = await tool(api, 'respond_to_human_request', { run_id: run, request_id: request });
    expect(refusal.structuredContent).toMatchObject({ status: 403, error: 'person_required' });
    expect(refusal.content[0]?.text).toContain('Ask the user to answer on the page of the team, with `aops inbox`');
    expect((await tool(api, 'get_run', { run_id: run })).structuredContent).toMatchObject({ pending_human_request: { id: request } });
    await api.ok('respondToHumanRequest', { params: { run_id: run, request_id: request }, body: { approved: true } });
    expect((await tool(api, 'wait_for_run', { run_id: run })).structuredContent).toMatchObject({ run: { status: 'completed' } });
    expect((await tool(api, 'get_run', { run_id: run })).content[0]?.text).toBe(`Run ${run} is completed.`);
    const messages = await tool(api, 'list_messages', { run_id: run, limit: 1 });
    expect(messages.structuredContent).toMatchObject({ limit: 1, offset: 0, messages: [{ text_content: 'go' }] });

    const otherId = (await api.run('stuck')).id;
    expect((await tool(api, 'send_message', { run_id: otherId, message: 'more' })).isError).toBeUndefined();
    for (let time = 0; time < 2; time++)
      expect(await tool(api, 'stop_run', { run_id: otherId })).toMatchObject({ structuredContent: { success: true } });
    const usage = await tool(api, 'get_usage');
    expect(usage.structuredContent).toMatchObject({ agentRuns: { used: 2 } });
    expect(usage.content[0]?.text).toMatch(/^2 runs used, /);
    const runs = await tool(api, 'list_runs', { status: 'interrupted' });
    expect(runs.structuredContent).toMatchObject({ total: 1, data: [{ id: otherId }] });
    expect((await tool(api, 'list_files', { run_id: otherId })).structuredContent).toMatchObject({ data: { entries: [] } });
  });

  it('add cases to queues, and follow them', async () => {
    const api = await startApi();
    const { queue } = await api.ok('createQueue', { body: { name: 'Invoices', description: 'To pay' } });
    expect((await tool(api, 'list_queues')).content[0]?.text).toBe(`1 of 1 queues:\n- Invoices (${queue.id}): To pay`);
    const draft = {
      queue_id: queue.id,
      title: 'Invoice 7',
      data: '{"amount":3}',
      labels: [{ key: 'vendor', value: 'acme' }],
      priority: 'high',
    };
    const creation = await tool(api, 'create_case', draft);
    const [row] = creation.structuredContent.added_cases as [{ id: string }];
    expect(creation.content[0]?.text).toContain(row.id);
    const listResult = await tool(api, 'list_cases', { queue_id: queue.id, status: 'pending', search: 'amount' });
    expect(listResult.content[0]?.text).toBe(`1 of 1 cases:\n- ${row.id} pending: Invoice 7`);
    await api.ok('createAgentCaseTrigger', { params: { agent_id: await api.agent() }, body: { case_queue_id: queue.id, enabled: true } });
    for (;;) {
      const caseResult = await tool(api, 'get_case', { case_id: row.id });
      if ((caseResult.structuredContent.case as { status: string }).status !== 'completed') continue;
      expect(caseResult.content[0]?.text).toMatch(/^"Invoice 7" is completed \(run .*\)\.$/);
      break;
    }
    expect(await tool(api, 'create_case', { ...draft, queue_id: unknownId })).toMatchObject({
      isError: true,
      structuredContent: { error: 'queue_not_found' },
    });
    expect(await tool(api, 'create_case', { ...draft, amount: 3 })).toMatchObject({
      isError: true,
      structuredContent: { error: 'invalid_request' },
    });
  });

  it('explain a refusal: what is wrong, and what to do', async () => {
    const api = await startApi();
    const completedRun = await api.run();
    // Its sandbox exists only once it has been executed.
    await api.until(completedRun.id, 'completed');
    const refusals: [string, Record<string, unknown>, string, string?][] = [
      ['get_run', { run_id: unknownId }, 'run_not_found', 'list_runs'],
      ['get_run', { run_id: 'x' }, 'invalid_request', 'run_id must be a UUID'],
      ['get_run', {}, 'invalid_request', 'run_id is required'],
      ['list_agents', { limt: 1 }, 'invalid_request', 'limt is unknown'],
      ['wait_for_run', { run_id: unknownId, timeout_seconds: 26 }, 'invalid_request', 'timeout_seconds must be at most 25'],
      ['start_run', { agent_id: unknownId }, 'agent_not_found', 'list_agents'],
      ['read_file', { run_id: completedRun.id, path: 'none.txt' }, 'file_not_found', 'list_files'],
    ];
    for (const [name, args, error, words = ''] of refusals) {
      const result = await tool(api, name, args);
      expect(result).toMatchObject({ isError: true, structuredContent: { error } });
      expect(result.content[0]?.text).toMatch(new RegExp(`^${error}: .*${words}`));
    }
    const unknownTool = await post(api, rpc('tools/call', { name: 'make_coffee', arguments: {} }));
    expect(unknownTool.body.error).toMatchObject({ code: -32_602, message: expect.stringContaining('make_coffee') });
    const noObject = await post(api, rpc('tools/call', { name: 'get_run', arguments: 'x' }));
    expect(noObject.body.error?.code).toBe(-32_602);
  });

  it('are limited to the scopes of the credential', async () => {
    const api = await startApi();
    const headersWithScopes = async (...scopes: string[]) => {
      const { secret } = await api.ok('createLocalToken', { body: { name: scopes.join(), scopes: scopes as never } });
      return { authorization: `Bearer ${secret}` };
    };
    const reader = await headersWithScopes('mcp:call', 'runs:read');
    const { body } = await post(api, rpc('tools/list'), reader);
    const names = (body.result as { tools: { name: string }[] }).tools.map(({ name }) => name);
    expect(names).toContain('get_run');
    for (const name of ['start_run', 'respond_to_human_request', 'read_file']) expect(names).not.toContain(name);
    const call = rpc('tools/call', { name: 'start_run', arguments: { agent_id: await api.agent() } });
    const refusal = await post(api, call, reader);
    expect(refusal.body.result).toMatchObject({ isError: true, structuredContent: { error: 'insufficient_scope' } });
    expect((await post(api, call, await headersWithScopes('mcp:call', 'runs:write'))).body.result).toMatchObject({
      structuredContent: { run: {} },
    });
    const outsideAnswer = await post(api, call, await headersWithScopes('runs:read', 'runs:write'));
    expect([outsideAnswer.status, outsideAnswer.body.error]).toEqual([403, 'insufficient_scope']);
  });

  it('wait no longer than permitted, and report progress on request', async () => {
    const clock = new WatchedClock();
    const api = await startApi({ clock, behaviours: { stuck: stuckBehaviour } });
    const run = (await api.run('stuck')).id;
    await api.until(run, 'running');
    const immediateResult = await tool(api, 'wait_for_run', { run_id: run, timeout_seconds: 0 });
    expect(immediateResult.structuredContent).toMatchObject({ still_running: true, run: { status: 'running' } });
    expect(immediateResult.content[0]?.text).toContain('call wait_for_run again');

    const call = { name: 'wait_for_run', arguments: { run_id: run, timeout_seconds: 5 }, _meta: { progressToken: 'p' } };
    for (const [message, headers] of [[rpc('tools/call', call), {}] as const, modernRequest('tools/call', call)]) {
      const { status, headers: answerHeaders, text } = await whileTimePasses(clock, post(api, message, headers));
      expect([status, answerHeaders['content-type']]).toEqual([200, 'text/event-stream']);
      const messages = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data as string) as Record<string, unknown>);
      expect(messages).toMatchObject([
        { method: 'notifications/progress', params: { progressToken: 'p', progress: 1, message: 'The run is running.' } },
        { id: 1, result: { structuredContent: { still_running: true } } },
      ]);
    }
  });

  it('end with their client, and do not delay a shutdown', async () => {
    const clock = new WatchedClock();
    const api = await startApi({ clock, behaviours: { stuck: stuckBehaviour } });
    const run = (await api.run('stuck')).id;
    await api.until(run, 'running');
    const call = rpc('tools/call', { name: 'wait_for_run', arguments: { run_id: run } });
    const abortController = new AbortController();
    const abandonedCall = post(api, call, {}, abortController.signal);
    await eventually('the call waits', () => clock.pauses === 1);
    abortController.abort();
    await expect(abandonedCall).rejects.toThrow('aborted');
    await eventually('the wait is over', () => clock.pausing === 0);

    const pendingAnswer = post(api, call);
    const subscription = await beginRequest(api, ...modernRequest('subscriptions/listen', { notifications: { toolsListChanged: true } }));
    await eventually('the call waits', () => clock.pauses === 2);
    await api.service.close();
    expect((await pendingAnswer).body.result).toMatchObject({ structuredContent: { still_running: true } });
    expect(subscription.headers['content-type']).toBe('text/event-stream');
    await subscription.body.text();
  });
});

describe('under an Idempotency-Key', () => {
  it('starts one run, however often the call is repeated', async () => {
    const api = await startApi();
    const call = rpc('tools/call', { name: 'start_run', arguments: { agent_id: await api.agent() }, _meta: { progressToken: 1 } });
    const first = await post(api, call, { 'idempotency-key': 'k1' });
    const second = await post(api, call, { 'idempotency-key': 'k1' });
    expect([first.status, second.status, second.headers['idempotency-replayed']]).toEqual([200, 200, 'true']);
    expect(first.headers['content-type']).toContain('application/json');
    expect(second.text).toBe(first.text);
    expect((await tool(api, 'list_runs')).structuredContent.total).toBe(1);
    const otherAnswer = await post(api, { ...call, id: 2 }, { 'idempotency-key': 'k1' });
    expect([otherAnswer.status, otherAnswer.body.error]).toEqual([400, 'idempotency_key_reused']);
  });

  it('never stores a failure of the service', async () => {
    const entries: LogEntry[] = [];
    const options = { log: (entry: LogEntry) => entries.push(entry), behaviours: { questioning: questionBehaviour } };
    const first = await startApi(options);
    const run = (await first.run('questioning')).id;
    await first.until(run, 'waiting');
    /** Starts the service again, with different questions in its data. */
    const startedWith = async (before: Api, questions: string): Promise<Api> => {
      await before.service.close();
      await alter(before, `update human_requests set questions = '${questions}'`);
      return startApi({ ...options, dataDirectory: before.dataDirectory });
    };
    const api = await startedWith(first, '{');
    const call = { name: 'get_run', arguments: { run_id: run } };
    const eras: [string, unknown, Record<string, string>][] = [
      ['k', rpc('tools/call', call), {}],
      ['modern', ...modernRequest('tools/call', call)],
    ];
    for (const [key, message, headers] of eras) {
      const failure = await post(api, message, { ...headers, 'idempotency-key': key });
      expect([failure.status, failure.body.error]).toEqual([500, 'internal_error']);
      expect(failure.text).not.toContain('JSON');
    }
    expect(entries.filter(({ level }) => level === 'error').map(({ message }) => message)).toContain('a tool failed');
    // If the response is a stream, its status has already been sent.
    const streamedAnswer = await post(api, rpc('tools/call', { ...call, _meta: { progressToken: 1 } }));
    expect([streamedAnswer.status, streamedAnswer.text]).toEqual([200, expect.stringContaining('"isError":true')]);
    const repairedAnswer = await post(await startedWith(api, '[]'), rpc('tools/call', call), { 'idempotency-key': 'k' });
    expect(repairedAnswer.headers['idempotency-replayed']).toBeUndefined();
    expect(repairedAnswer.body.result).toMatchObject({ structuredContent: { run: { status: 'waiting' } } });
  });

  it('stores a refusal and an empty response', async () => {
    const api = await startApi();
    const refusedCall = rpc('tools/call', { name: 'get_run', arguments: { run_id: unknownId } });
    await post(api, refusedCall, { 'idempotency-key': 'k2' });
    expect((await post(api, refusedCall, { 'idempotency-key': 'k2' })).headers['idempotency-replayed']).toBe('true');
    const notice = { jsonrpc: '2.0', method: 'notifications/initialized' };
    await post(api, notice, { 'idempotency-key': 'k3' });
    const repeatPosted = await post(api, notice, { 'idempotency-key': 'k3' });
    expect([
      repeatPosted.status,
      repeatPosted.text,
      repeatPosted.headers['content-type'],
      repeatPosted.headers['idempotency-replayed'],
    ]).toEqual([202, '', undefined, 'true']);
  });
});
