import { describe, expect, it } from 'vitest';
import { Bridge } from '../../../src/client/mcp/bridge.ts';
import { readLines, tooLong } from '../../../src/client/mcp/lines.ts';
import { answer, json, partial, type RawServer, type RecordedRequest, raw, reply, type Step } from '../../faults/raw-server.ts';
import { eventually } from '../../support/eventually.ts';
import { newClient, scriptedServer } from '../harness.ts';

interface Line {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: Record<string, unknown> };
}

/** A bridge to a server, and the lines that it has written. */
function newBridge(server: RawServer, options: Parameters<typeof newClient>[1] = {}) {
  const lines: string[] = [];
  const logEntries: string[] = [];
  const bridge = new Bridge(newClient(server.url, options).client, {
    write: async (line) => void lines.push(line),
    log: (text) => void logEntries.push(text),
    suggestions: (text) => text.replaceAll('`aops ', '`aops --profile acme '),
  });
  const send = (...messages: unknown[]): void => {
    for (const message of messages) bridge.receive(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)));
  };
  /** Sends lines, and returns what has been written once all work is done. */
  const repliesTo = async (...messages: unknown[]): Promise<Line[]> => {
    send(...messages);
    await bridge.idle();
    return lines.map((line) => JSON.parse(line) as Line);
  };
  return { bridge, lines, logEntries, send, repliesTo };
}

const rpc = (method: string, id?: unknown, params?: unknown) => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  method,
  ...(params ? { params } : {}),
});
const call = (id: unknown, name = 'do') => rpc('tools/call', id, { name });
const messageOf = ({ body }: RecordedRequest) => JSON.parse(body.toString('utf8')) as { id: unknown; method: string };
const result = (value: Record<string, unknown> = {}, headers: Record<string, string> = {}): Step =>
  reply((request) => json(200, { jsonrpc: '2.0', id: messageOf(request).id, result: value }, headers));
const failureAnswer = (status: number, code: number): Step => json(status, { jsonrpc: '2.0', id: null, error: { code, message: 'no' } });
const acceptance = answer(202, '');
const greeting = result({ protocolVersion: '2025-11-25' }, { 'mcp-session-id': 's1' });
const handshake = [rpc('initialize', 0, { protocolVersion: '2025-11-25' }), rpc('notifications/initialized')];

describe('messages', () => {
  it('are answered with the ID they came with, whatever it is', async () => {
    const ids = [0, '0', -1, 1, '1', 'a b', 2 ** 53 - 1];
    const server = await scriptedServer(...ids.map(() => result()));
    const lines = await newBridge(server).repliesTo(...ids.map((id) => call(id)));
    expect(lines).toHaveLength(ids.length);
    expect(new Set(lines.map(({ id }) => JSON.stringify(id)))).toEqual(new Set(ids.map((id) => JSON.stringify(id))));
  });

  it('are sent unchanged, and arrive on one line', async () => {
    const server = await scriptedServer(
      reply((request) =>
        answer(200, JSON.stringify({ jsonrpc: '2.0', id: messageOf(request).id, result: { a: 'ü\n' } }, null, 2), {
          'content-type': 'application/json',
        }),
      ),
    );
    const text = '{ "jsonrpc":"2.0","id":1 ,"method":"tools/call","params":{"n":12345678901234567890} }';
    const { lines, repliesTo } = newBridge(server);
    await repliesTo(text);
    expect(server.requests[0]?.body.toString()).toBe(text);
    expect(lines).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"a":"ü\\n"}}']);
  });

  it('that are invalid are answered without an ID, and the next one is handled', async () => {
    const server = await scriptedServer(result());
    const lines = await newBridge(server).repliesTo('{', '[]', '7', 'null', '{"id":1}', call(1));
    expect(lines.map(({ id, error }) => [id, error?.code ?? null])).toEqual([
      [null, -32_700],
      [null, -32_600],
      [null, -32_600],
      [null, -32_600],
      [null, -32_600],
      [1, null],
    ]);
  });

  it('without an ID get no answer in any case, and neither do answers', async () => {
    const server = await scriptedServer(acceptance, json(500, {}), json(500, {}), json(500, {}), json(500, {}), acceptance);
    const { lines, logEntries, repliesTo } = newBridge(server);
    await repliesTo(rpc('notifications/initialized'));
    await repliesTo(rpc('notifications/roots/list_changed'));
    await repliesTo({ jsonrpc: '2.0', id: 9, result: { roots: [] } });
    expect(lines).toEqual([]);
    expect(logEntries).toEqual([expect.stringContaining('notifications/roots/list_changed did not reach the service')]);
    expect(server.requests).toHaveLength(6);
  });

  it('can belong to the modern era: the headers repeat their contents', async () => {
    const server = await scriptedServer(result(), result());
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    const { repliesTo } = newBridge(server);
    await repliesTo(rpc('tools/call', 1, { name: 'do', _meta }));
    await repliesTo(rpc('resources/read', 2, { uri: 'file:///a', _meta }));
    const [first, second] = server.requests.map(({ headers }) => headers);
    expect(first).toMatchObject({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'do' });
    expect(second).toMatchObject({ 'mcp-method': 'resources/read', 'mcp-name': 'file:///a' });
  });

  it('carry a key each if they may change something, and none if the service declares them read-only', async () => {
    const tools = [{ name: 'look', annotations: { readOnlyHint: true } }, { name: 'do' }];
    const server = await scriptedServer(result({ tools }), result(), result(), result());
    const { repliesTo } = newBridge(server);
    await repliesTo(rpc('tools/list', 1));
    await repliesTo(call(2, 'look'));
    await repliesTo(call(3, 'do'));
    await repliesTo(call(4, 'do'));
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys.slice(0, 2)).toEqual([undefined, undefined]);
    expect(new Set(keys.slice(2)).size).toBe(2);
  });
});

it('calls have keys of their own, whatever the key of the command', async () => {
  const keys: unknown[] = [];
  for (let start = 0; start < 2; start++) {
    const server = await scriptedServer(result(), result());
    await newBridge(server, { idempotencyKey: 'key-of-the-command' }).repliesTo(call(1), call(2));
    keys.push(...server.requests.map(({ headers }) => headers['idempotency-key']));
  }
  expect(new Set(keys).size).toBe(4);
  for (const key of keys) expect(key).not.toContain('key-of-the-command');
});

describe('failures', () => {
  it("are one answer to the request: the service's own failures in its form, others in ours", async () => {
    const server = await scriptedServer(
      failureAnswer(404, -32_601),
      json(403, { error: 'insufficient_scope', message: 'Not for you.' }),
      answer(200, 'nothing', { 'content-type': 'text/html' }),
      ...Array.from({ length: 3 }, () => partial(200, 100, '{"json', 'close')),
    );
    const { repliesTo } = newBridge(server);
    await repliesTo(rpc('a', 1));
    await repliesTo(call(2));
    const lines = await repliesTo(call(3));
    expect(lines.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(lines[0]?.error).toEqual({ code: -32_601, message: 'no' });
    expect(lines[1]?.error).toMatchObject({
      code: -32_000,
      message: expect.stringContaining('Not for you.'),
      data: { error: 'insufficient_scope', status: 403 },
    });
    expect(lines[2]?.error).toMatchObject({ data: { error: 'outcome_unknown' } });
  });

  it('include a response without the answer to the request', async () => {
    const server = await scriptedServer(json(200, { jsonrpc: '2.0', id: 'another', result: {} }), json(200, { jsonrpc: '2.0', id: 1 }));
    const { repliesTo } = newBridge(server);
    await repliesTo(rpc('a', 1));
    const message = 'The service answered 200 without an answer to this request.';
    for (const { error } of await repliesTo(rpc('a', 1)))
      expect(error).toEqual({ code: -32_000, message, data: { error: 'unusable_answer' } });
  });

  it('of the connection are retried, a change with the same key', async () => {
    const server = await scriptedServer(partial(200, 100, '{"json', 'close'), json(503, {}), result({ ok: true }));
    const lines = await newBridge(server).repliesTo(call(1));
    expect(lines).toEqual([{ jsonrpc: '2.0', id: 1, result: { ok: true } }]);
    expect(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  });

  it('renew a rejected token once', async () => {
    const server = await scriptedServer(
      json(401, { error: 'invalid_token' }),
      result(),
      json(401, { error: 'invalid_token' }),
      json(401, { error: 'invalid_token' }),
    );
    let renewals = 0;
    const credential = {
      authorization: async () => `Bearer token-${renewals}`,
      refresh: async () => {
        renewals += 1;
        return true;
      },
    };
    const { repliesTo } = newBridge(server, { credential });
    await repliesTo(call(1));
    expect(renewals).toBe(1);
    const lines = await repliesTo(call(2));
    expect([renewals, server.requests.length]).toEqual([2, 4]);
    expect(lines.map(({ id, error }) => [id, error?.data?.status])).toEqual([
      [1, undefined],
      [2, 401],
    ]);
    expect(JSON.stringify(lines)).not.toContain('token-');
  });
});

describe('sessions', () => {
  it('are named in every message after the first', async () => {
    const server = await scriptedServer(greeting, acceptance, result(), answer(200, ''));
    const { bridge, repliesTo } = newBridge(server);
    for (const message of [...handshake, call(1)]) await repliesTo(message);
    await bridge.close();
    expect(server.requests.map(({ method, headers }) => [method, headers['mcp-session-id'], headers['mcp-protocol-version']])).toEqual([
      ['POST', undefined, undefined],
      ['POST', 's1', '2025-11-25'],
      ['POST', 's1', '2025-11-25'],
      ['DELETE', 's1', '2025-11-25'],
    ]);
  });

  it('that the service has forgotten are restarted without the client noticing, and the request is sent once more', async () => {
    const repeatStep = result({ protocolVersion: '2025-11-25' }, { 'mcp-session-id': 's2' });
    const server = await scriptedServer(greeting, acceptance, failureAnswer(404, -32_001), repeatStep, acceptance, result({ ok: true }));
    const { repliesTo, logEntries } = newBridge(server);
    for (const message of handshake) await repliesTo(message);
    const lines = await repliesTo(call('x'));
    expect(lines.map(({ id }) => id)).toEqual([0, 'x']);
    expect(lines[1]?.result).toEqual({ ok: true });
    expect(server.requests.slice(3).map((request) => [messageOf(request).method, request.headers['mcp-session-id']])).toEqual([
      ['initialize', undefined],
      ['notifications/initialized', 's2'],
      ['tools/call', 's2'],
    ]);
    expect(messageOf(server.requests[3] as RecordedRequest).id).not.toBe(0);
    expect(logEntries).toHaveLength(1);
  });

  it('begin only with a version', async () => {
    const server = await scriptedServer(result({}, { 'mcp-session-id': 's1' }), acceptance, result());
    const { repliesTo } = newBridge(server);
    await repliesTo(...handshake);
    await repliesTo(call(1));
    expect(server.requests.map(({ headers }) => [headers['mcp-session-id'], headers['mcp-protocol-version']])).toEqual(
      Array.from({ length: 3 }, () => [undefined, undefined]),
    );
  });

  it('that are forgotten twice are an error', async () => {
    const server = await scriptedServer(
      greeting,
      acceptance,
      failureAnswer(404, -32_001),
      greeting,
      acceptance,
      failureAnswer(404, -32_001),
    );
    const { repliesTo } = newBridge(server);
    for (const message of handshake) await repliesTo(message);
    const lines = await repliesTo(call(1));
    expect(lines.map(({ id, error }) => [id, error?.code])).toEqual([
      [0, undefined],
      [1, -32_001],
    ]);
    expect(server.requests).toHaveLength(6);
  });

  it('are restarted for the next request if that failed, and a request during the restart waits for it', async () => {
    const server = await scriptedServer(greeting, acceptance);
    const starts: string[] = [];
    const { send, repliesTo } = newBridge(server);
    for (const message of handshake) await repliesTo(message);
    server.always(
      reply((request) => {
        const { method } = messageOf(request);
        if (method === 'initialize') {
          starts.push(method);
          if (starts.length === 1) return failureAnswer(403, -32_000);
          // Another request is sent while the session starts.
          send(call('during'));
          return result({ protocolVersion: '2025-11-25' }, { 'mcp-session-id': 's2' });
        }
        // What a service without such a session answers to a request without any.
        if (request.headers['mcp-session-id'] === undefined) return failureAnswer(400, -32_000);
        if (request.headers['mcp-session-id'] !== 's2') return failureAnswer(404, -32_001);
        return method.startsWith('notifications/') ? acceptance : result({ ok: true });
      }),
    );
    const failedAnswer = (await repliesTo(call('first'))).find(({ id }) => id === 'first');
    expect(failedAnswer?.error).toBeDefined();
    const answers = await repliesTo(call('second'));
    expect(answers.filter(({ id }) => id !== 0 && id !== 'first')).toMatchObject([
      { id: expect.any(String), result: { ok: true } },
      { id: expect.any(String), result: { ok: true } },
    ]);
    expect(starts).toHaveLength(2);
  });

  it('that are forgotten during many requests are restarted once', async () => {
    const server = await scriptedServer(greeting, acceptance);
    let current = 's1';
    server.always(
      reply((request) => {
        if (messageOf(request).method === 'initialize') {
          current = 's2';
          return result({ protocolVersion: '2025-11-25' }, { 'mcp-session-id': 's2' });
        }
        if (request.headers['mcp-session-id'] !== 's2') return failureAnswer(404, -32_001);
        return messageOf(request).method.startsWith('notifications/') ? acceptance : result();
      }),
    );
    const { repliesTo } = newBridge(server);
    for (const message of handshake) await repliesTo(message);
    const lines = await repliesTo(...Array.from({ length: 10 }, (_, index) => call(index + 1)));
    expect(current).toBe('s2');
    expect(lines.filter(({ error }) => error !== undefined)).toEqual([]);
    expect(lines.map(({ id }) => id).sort((a, b) => Number(a) - Number(b))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(server.requests.filter((request) => messageOf(request).method === 'initialize')).toHaveLength(2);
  });
});

describe('streams', () => {
  it('are passed on as they arrive, one message per line', async () => {
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { message: 'grüße 😀' } };
    const text = `: hi\r\nretry: 5\r\n\r\ndata: ${JSON.stringify(progress)}\r\n\r\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} })}\r\n\r\n`;
    const server = await scriptedServer(answer(200, text, { 'content-type': 'text/event-stream' }));
    const { lines, repliesTo } = newBridge(server);
    await repliesTo(call(1));
    expect(lines.map((line) => JSON.parse(line) as Line)).toEqual([progress, { jsonrpc: '2.0', id: 1, result: {} }]);
  });

  it('that stay open after the answer delay nothing', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
    const server = await scriptedServer(raw(`${head}data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n`, 'stall'));
    expect(await newBridge(server).repliesTo(call(1))).toHaveLength(1);
  });
});

describe('the end', () => {
  it('of a request that the client cancelled is not an answer', async () => {
    const server = await scriptedServer(raw('', 'stall'), acceptance);
    const { lines, send, repliesTo } = newBridge(server);
    send(rpc('tools/list', 'long'));
    await eventually('the request is there', () => server.requests.length === 1);
    await repliesTo(rpc('notifications/cancelled', undefined, { requestId: 'long' }));
    expect(lines).toEqual([]);
    expect(server.requests).toHaveLength(2);
  });

  it('of the client leaves no request without an answer', async () => {
    const server = await scriptedServer(raw('', 'stall'));
    const { bridge, send, repliesTo } = newBridge(server);
    send(rpc('tools/list', 1));
    await eventually('the request is there', () => server.requests.length === 1);
    bridge.abort(new Error('The client has closed its end.'));
    expect(await repliesTo()).toMatchObject([{ id: 1, error: { message: 'The client has closed its end.' } }]);
  });
});

describe('lines', () => {
  const read = async (chunks: (string | Buffer)[], limit = 100): Promise<unknown[]> => {
    const lines: unknown[] = [];
    for await (const line of readLines(
      (async function* () {
        yield* chunks;
      })(),
      limit,
    ))
      lines.push(line === tooLong ? tooLong : line.toString());
    return lines;
  };

  it('can end with a line feed, with or without a carriage return, or with the stream', async () => {
    expect(await read(['a\nb\r\n\n\r\nc'])).toEqual(['a', 'b', 'c']);
    const bytes = Buffer.from('grüße 😀\r\nx\n');
    expect(await read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(['grüße 😀', 'x']);
  });

  it('that are too long are reported, and the next one is read', async () => {
    expect(await read(['x'.repeat(60), 'x'.repeat(60), '\nshort\n', 'y'.repeat(101)])).toEqual([tooLong, 'short', tooLong]);
  });
});

describe('human requests', () => {
  const run_id = '0b1f4c9e-1111-4222-8333-444455556666';
  const approval = { id: 'r1', title: 'Pay\u202e?', description: 'To Ex', type: 'approval', created_at: '' };
  const question = {
    ...approval,
    type: 'question',
    questions: [
      { question: 'Which account?', header: 'Account', options: [{ label: 'A' }, { label: 'B', description: 'shared' }] },
      { question: 'Labels?', options: [{ label: 'x' }, { label: 'y' }], multi_select: true },
      { question: 'Why?' },
    ],
  };
  const initialize = (capabilities: object) => rpc('initialize', 0, { protocolVersion: '2025-11-25', capabilities });
  const respond = (args: object = {}) =>
    rpc('tools/call', 5, { name: 'respond_to_human_request', arguments: { run_id, request_id: 'r1', approved: true, ...args } });
  const pending = (request: object | null): Step => json(200, { run: { id: run_id }, pending_human_request: request });

  const accepted: Step = json(200, { human_request: { id: 'r1', title: 'Pay?', response: 'denied' } });

  /** A bridge whose client answers each form as its user decides. */
  function withUser(server: RawServer, onForm: (params: Record<string, unknown>) => object) {
    const bridge = newBridge(server);
    const forms: Record<string, unknown>[] = [];
    const decide = async (...messages: unknown[]): Promise<Line[]> => {
      const done = bridge.repliesTo(...messages);
      await eventually('the form is shown', async () => bridge.lines.some((line) => line.includes('elicitation/create')));
      const form = bridge.lines.map((line) => JSON.parse(line) as Line).find(({ method }) => method === 'elicitation/create');
      forms.push(form?.params ?? {});
      bridge.send({ jsonrpc: '2.0', id: form?.id, ...onForm(form?.params ?? {}) });
      return done;
    };
    return { ...bridge, decide, forms };
  }

  it('are answered with what the user enters, not with what the model proposes', async () => {
    const server = await scriptedServer(greeting, pending(approval), accepted);
    const { decide, forms, repliesTo } = withUser(server, () => ({
      result: { action: 'accept', content: { decision: 'deny', reason: 'no' } },
    }));
    await repliesTo(initialize({ elicitation: {} }));
    const lines = await decide(respond());
    expect(lines.find(({ id }) => id === 5)?.result).toMatchObject({
      content: [{ text: 'The user answered "Pay?": denied. Follow the run with wait_for_run.' }],
      structuredContent: { human_request: { response: 'denied' } },
    });
    expect(forms[0]).toMatchObject({
      message: expect.stringContaining('Pay\\u{202e}?\n\nTo Ex'),
      requestedSchema: { required: ['decision'] },
    });
    expect(JSON.stringify(forms[0])).not.toContain('"default"');
    expect(server.requests).toHaveLength(3);
    // To the operation of the interface: the endpoint of the protocol accepts no answer.
    expect(server.requests[2]).toMatchObject({ method: 'POST', path: `/v2/runs/${run_id}/human-requests/r1/respond` });
    expect(JSON.parse(String(server.requests[2]?.body))).toEqual({ approved: false, reason: 'no' });
  });

  it('with questions become a field for each', async () => {
    const server = await scriptedServer(greeting, pending(question), accepted);
    const content = { answer_1: 'B', answer_2: 'x, y', answer_3: 'because' };
    const { decide, forms, repliesTo } = withUser(server, () => ({ result: { action: 'accept', content } }));
    await repliesTo(initialize({ elicitation: { form: {} } }));
    await decide(respond({ answers: { 'Which account?': 'A' } }));
    expect(forms[0]?.requestedSchema).toEqual({
      type: 'object',
      properties: {
        answer_1: { type: 'string', title: 'Account', description: 'Which account?\nB: shared', minLength: 1, enum: ['A', 'B'] },
        answer_2: { type: 'string', title: 'Labels?', description: 'Labels?\nOne or several, separated by commas: x, y', minLength: 1 },
        answer_3: { type: 'string', title: 'Why?', description: 'Why?', minLength: 1 },
      },
      required: ['answer_1', 'answer_2', 'answer_3'],
    });
    expect(JSON.parse(String(server.requests[2]?.body))).toEqual({
      answers: { 'Which account?': 'B', 'Labels?': 'x, y', 'Why?': 'because' },
    });
  });

  it('are reported as answered by somebody else if the service refuses the answer', async () => {
    const refusal = json(409, { error: 'human_request_already_answered', message: 'The human request has already been answered.' });
    const server = await scriptedServer(greeting, pending(approval), refusal);
    const { decide, repliesTo } = withUser(server, () => ({ result: { action: 'accept', content: { decision: 'approve' } } }));
    await repliesTo(initialize({ elicitation: {} }));
    const answerLine = (await decide(respond())).find(({ id }) => id === 5);
    expect(answerLine?.result).toMatchObject({ isError: true, content: [{ text: 'The human request has already been answered.' }] });
  });

  it.each([
    ['declines', { result: { action: 'decline' } }],
    ['closes the form', { result: { action: 'cancel' } }],
    ['sends the form without a decision', { result: { action: 'accept', content: {} } }],
    ['has a client that fails', { error: { code: -32_601, message: 'no' } }],
  ])('stay pending if the user %s', async (_, reply) => {
    const server = await scriptedServer(greeting, pending(approval));
    const { decide, repliesTo } = withUser(server, () => reply);
    await repliesTo(initialize({ elicitation: {} }));
    const answerLine = (await decide(respond())).find(({ id }) => id === 5);
    expect(answerLine?.result).toMatchObject({ isError: true });
    expect(JSON.stringify(answerLine)).toContain('The user did not decide.');
    expect(server.requests).toHaveLength(2);
  });

  it('withdraw the form if the call is cancelled, and only then', async () => {
    const server = await scriptedServer(greeting, pending(approval), pending(approval), acceptance);
    const { decide, repliesTo, send, lines, bridge } = withUser(server, () => ({ result: { action: 'decline' } }));
    await repliesTo(initialize({ elicitation: {} }));
    const withdrawn = (): Line[] =>
      lines.map((line) => JSON.parse(line) as Line).filter(({ method }) => method === 'notifications/cancelled');
    await decide(respond());
    expect(withdrawn()).toEqual([]);
    const shownForms = (): Line[] => lines.map((line) => JSON.parse(line) as Line).filter(({ method }) => method === 'elicitation/create');
    send(respond());
    await eventually('the second form is shown', () => shownForms().length === 2);
    send(rpc('notifications/cancelled', undefined, { requestId: 5 }));
    await bridge.idle();
    expect(withdrawn()).toMatchObject([{ params: { requestId: shownForms()[1]?.id } }]);
  });

  it('cannot be answered by a client that shows no forms, or after another request has replaced them', async () => {
    const tools = [{ name: 'respond_to_human_request' }, { name: 'stop_run' }];
    const server = await scriptedServer(greeting, result({ tools }), greeting, result({ tools }), pending({ ...approval, id: 'r2' }));
    const plain = newBridge(server);
    await plain.repliesTo(initialize({}));
    const lines = await plain.repliesTo(rpc('tools/list', 1), respond());
    expect(lines.find(({ id }) => id === 1)?.result).toEqual({ tools: [{ name: 'stop_run' }] });
    const refusal = JSON.stringify(lines.find(({ id }) => id === 5)?.result);
    expect(refusal).toContain('Only a person can answer a human request');
    expect(refusal).toContain('`aops --profile acme inbox` or `aops --profile acme runs respond RUN`');
    expect(server.requests).toHaveLength(2);

    const capable = newBridge(server);
    await capable.repliesTo(initialize({ elicitation: {} }));
    await capable.repliesTo(rpc('tools/list', 1));
    const replies = await capable.repliesTo(respond());
    expect(replies.find(({ id }) => id === 1)?.result).toEqual({ tools });
    expect(JSON.stringify(replies.find(({ id }) => id === 5)?.result)).toContain('does not wait for the human request r1');
    expect(server.requests).toHaveLength(5);
  });
});

describe('a request without a usable ID', () => {
  it.each([undefined, null, true, {}])('is refused and not sent: %j', async (id) => {
    const server = await scriptedServer();
    const message = { ...rpc('tools/call', undefined, { name: 'respond_to_human_request' }), ...(id === undefined ? {} : { id }) };
    const lines = await newBridge(server).repliesTo(message);
    expect(lines).toMatchObject([{ id: null, error: { code: -32_600 } }]);
    expect(server.connections).toBe(0);
  });
});

describe('a policy', () => {
  const policy = { permitted: new Set(['list_runs']), readOnly: true };

  it('sends exactly the call that was checked', async () => {
    const server = await scriptedServer(result());
    const lines: string[] = [];
    const bridge = new Bridge(newClient(server.url).client, {
      write: async (line) => void lines.push(line),
      log: () => undefined,
      suggestions: String,
      policy,
    });
    for (const name of ['"start_run","name":"list_runs"', '"list_runs","name":"start_run"', '["list_runs"]', 'null'])
      bridge.receive(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":${name}}}`));
    await bridge.idle();
    expect(server.requests.map(({ body }) => (JSON.parse(String(body)) as { params: object }).params)).toEqual([{ name: 'list_runs' }]);
    expect(String(server.requests[0]?.body)).not.toContain('start_run');
    expect(lines.filter((line) => line.includes('is not available'))).toHaveLength(3);
  });
});
