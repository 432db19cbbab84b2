import { beforeAll, describe, expect, it } from 'vitest';
import { answer, noAnswer, RawServer, type RecordedRequest } from '../faults/raw-server.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { whenDone } from '../support/temporary.ts';

const unknownId = '00000000-0000-4000-8000-000000000007';

let service: TestService;
let agent: string;
beforeAll(async () => {
  service = await startTestService();
  agent = await service.agent('- approve: { id: pay, title: "Pay it?" }\n- write: { path: out.txt, content: paid }', 'payer');
});

interface Refusal {
  error: { code: string; message: string; hint: string; exit: number; status?: number };
}
const refusalOf = (stderr: string) => (JSON.parse(stderr) as Refusal).error;

describe('mcp tools, describe', () => {
  it('lists the tools with their names, whether they are read-only, and a summary', async () => {
    const listResult = await service.cli(['mcp', 'tools', '--json']);
    expect(listResult).toMatchObject({ code: 0, stderr: '' });
    const { data, total } = listResult.json<{ data: { name: string; inputSchema: object }[]; total: number }>();
    expect(total).toBe(data.length);
    expect(data.find(({ name }) => name === 'get_run')).toMatchObject({ inputSchema: { type: 'object', required: ['run_id'] } });
    const result = await service.cli(['mcp', 'tools'], { tty: true, columns: 80, env: { NO_COLOR: '1' } });
    expect(result.stdout).toMatch(/^NAME +READ-ONLY +SUMMARY\n/);
    expect(result.stdout).toMatch(/\nstart_run +no +Starts a run of an agent/);
    expect(Math.max(...result.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect((await service.cli(['mcp', 'tools'])).stdout).toMatch(/\nget_run\ttrue\tReturns a run/);
  });

  it('describes a tool with its arguments', async () => {
    const result = await service.cli(['mcp', 'describe', 'respond_to_human_request'], { tty: true, env: { NO_COLOR: '1' } });
    expect(result.stdout).toMatch(/Destructive: yes\n/);
    expect(result.stdout).toMatch(/\nrequest_id +uuid +yes +ID of the human request/);
    expect((await service.cli(['mcp', 'describe', 'get_run', '--jq', '.inputSchema.required[]'])).stdout).toBe('run_id\n');
    const refusal = await service.cli(['mcp', 'describe', 'getrun', '--json']);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusalOf(refusal.stderr)).toMatchObject({ code: 'tool_not_found', hint: 'Did you mean get_run?' });
  });
});

describe('mcp call', () => {
  it('starts a run, answers it and reads its files', async () => {
    const run = (
      await service.cli(['mcp', 'call', 'start_run', '-f', `agent_id=${agent}`, '-f', 'message=12', '--jq', '.run.id'])
    ).stdout.trim();
    const waitResult = await service.cli(['mcp', 'call', 'wait_for_run', '-f', `run_id=${run}`, '--json']);
    expect(waitResult).toMatchObject({ code: 0, stderr: '' });
    const request = waitResult.json<{ pending_human_request: { id: string } }>().pending_human_request.id;

    const respond = [
      'mcp',
      'call',
      'respond_to_human_request',
      '-f',
      `run_id=${run}`,
      '-f',
      `request_id=${request}`,
      '-F',
      'approved=true',
    ];
    // No process can decide: neither with flags, nor with a raw message, nor on a terminal that nobody types at.
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'respond_to_human_request', arguments: {} } };
    const file = await service.file('call.json', JSON.stringify(message));
    const attempts: [string[], object?][] = [
      [respond],
      [[...respond, '--yes']],
      [[...respond, '--dry-run']],
      [[...respond, '--yes'], { tty: true }],
      [respond, { tty: true }],
      [respond, { stdin: 'y\n' }],
      [['mcp', 'request', '--input', file]],
      [['mcp', 'request', 'tools/call', '-f', 'name=respond_to_human_request', '-f', `arguments[run_id]=${run}`]],
    ];
    for (const [argv, options] of attempts) {
      const refusal = await service.cli([...argv, '--json'], options);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      expect(refusalOf(refusal.stderr)).toMatchObject({ code: 'person_required', hint: expect.stringContaining('aops inbox') });
    }
    expect((await service.get(run)).run.status).toBe('waiting');
    expect((await service.cli(['runs', 'respond', run, '--approve'])).code).toBe(0);

    await service.until(run, 'completed');
    const read = ['mcp', 'call', 'read_file', '-f', `run_id=${run}`, '-f', 'path=out.txt'];
    expect((await service.cli(read, { tty: true })).stdout).toBe('paid\n');
    expect((await service.cli([...read, '--jq', '.data.content'])).stdout).toBe('paid\n');
    expect((await service.cli(read)).stdout).toContain('data.content\tpaid\n');
  });

  it('prints lists in a pipe as rows', async () => {
    const listResult = await service.cli(['mcp', 'call', 'list_agents', '-F', 'limit=1']);
    expect(listResult).toMatchObject({ code: 0, stderr: '' });
    expect(listResult.stdout).toMatch(new RegExp(`^total\\t1\nlimit\\t1\noffset\\t0\n${agent}\tpayer\t`));
    expect((await service.cli(['mcp', 'call', 'list_agents'], { tty: true })).stdout).toBe(`1 of 1 agents:\n- payer (${agent})\n`);
  });

  it('checks the arguments before it sends them', async () => {
    const before = await service.countRuns();
    const input = await service.file('list.json', '[1]');
    const cases: [string[], string, string][] = [
      [
        ['start_run', '-f', 'agent_id=x', '-f', 'mesage=y'],
        'agent_id must be a UUID',
        'The arguments of start_run are: agent_id, message, sandbox_id.',
      ],
      [['start_run', '-f', `agent_id=${agent}`, '-f', 'mesage=y'], 'mesage is unknown', 'The arguments of start_run are:'],
      [['start_run'], 'agent_id is required', 'The arguments of start_run are:'],
      [['list_runs', '-f', 'limit=3'], 'limit must be an integer', '-F sends numbers'],
      [['list_runs', '-f', 'status=odd'], 'status must be one of: not_started, pending', 'The arguments of list_runs are:'],
      [['list_runs', '--input', input], 'a JSON object', ''],
    ];
    for (const [argv, message, hint] of cases) {
      const refusal = await service.cli(['mcp', 'call', ...argv, '--json']);
      expect(refusal).toMatchObject({ code: 2, stdout: '' });
      const error = refusalOf(refusal.stderr);
      expect(error.message).toContain(message);
      expect(error.hint ?? '').toContain(hint);
    }
    expect(await service.countRuns()).toBe(before);
  });

  it('reports the error of the tool with its exit code', async () => {
    const refusal = await service.cli(['mcp', 'call', 'get_run', '-f', `run_id=${unknownId}`]);
    expect(refusal).toMatchObject({ code: 3, stdout: '' });
    expect(refusal.stderr).toBe(`error: There is no run ${unknownId}.\nhint: list_runs returns the existing runs.\n`);
    const json = await service.cli(['mcp', 'call', 'get_run', '-f', `run_id=${unknownId}`, '--json']);
    expect(json.code).toBe(3);
    expect(json.json()).toMatchObject({ error: 'run_not_found', status: 404 });
  });

  it('sends a change once per key, and only prints it in a dry run', async () => {
    const before = await service.countRuns();
    const start = ['mcp', 'call', 'start_run', '-f', `agent_id=${agent}`];
    const dryRunResult = await service.cli([...start, '--dry-run']);
    expect(dryRunResult.json()).toMatchObject({
      method: 'POST',
      url: `${service.service.url}/v2/mcp`,
      body: { method: 'tools/call', params: { name: 'start_run' } },
    });
    expect(await service.countRuns()).toBe(before);
    const [first, second] = [
      await service.cli([...start, '--idempotency-key', 'mcp-1', '--jq', '.run.id']),
      await service.cli([...start, '--idempotency-key', 'mcp-1', '--jq', '.run.id']),
    ];
    expect(second.stdout).toBe(first.stdout);
    expect(await service.countRuns()).toBe(before + 1);
  });
});

it('completes the names of tools', async () => {
  expect((await service.cli(['__refresh', 'tools'])).code).toBe(0);
  expect((await service.cli(['__complete', '--', 'mcp', 'call', 'start'])).stdout).toBe('start_run\tStart a run\n');
  expect((await service.cli(['__complete', '--', 'mcp', 'describe', 'get_'])).stdout).toBe(
    'get_run\tGet a run\nget_case\tGet a case\nget_usage\tGet usage\n',
  );
});

describe('mcp request', () => {
  it('prints the result of a method', async () => {
    const discoverResult = await service.cli(['mcp', 'request', 'server/discover']);
    expect(discoverResult.json()).toMatchObject({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
    const callResult = await service.cli([
      'mcp',
      'request',
      'tools/call',
      '-f',
      'name=list_agents',
      '-F',
      'arguments[limit]=1',
      '--jq',
      '.structuredContent.limit',
    ]);
    expect(callResult.stdout).toBe('1\n');
    const refusal = await service.cli(['mcp', 'request', 'nothing/here', '--json']);
    expect(refusal.code).toBe(3);
    expect(refusalOf(refusal.stderr)).toMatchObject({ code: 'method_not_found', status: 404 });
    const invalidResult = await service.cli(['mcp', 'request', 'tools/call', '-f', 'name=no_tool', '--json']);
    expect(invalidResult.code).toBe(2);
    expect(refusalOf(invalidResult.stderr)).toMatchObject({ code: 'invalid_params' });
  });

  it('sends a complete message unchanged', async () => {
    const message = { jsonrpc: '2.0', id: 0, method: 'ping' };
    const answerResult = await service.cli(['mcp', 'request', '--input', '-'], { stdin: JSON.stringify(message) });
    expect(answerResult.json()).toEqual({ jsonrpc: '2.0', id: 0, result: {} });
    const failure = await service.cli(['mcp', 'request', '--input', '-'], { stdin: JSON.stringify({ ...message, method: 'nothing' }) });
    expect(failure.json()).toMatchObject({ id: 0, error: { code: -32_601 } });
    const notice = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect(await service.cli(['mcp', 'request', '--input', '-'], { stdin: JSON.stringify(notice) })).toMatchObject({ code: 0, stdout: '' });
    for (const [invalidMessage, problem] of [
      ['{}', 'The message is not a JSON-RPC request.'],
      ['[]', 'The message is not a JSON-RPC request.'],
      ['{"method":"ping","id":1}', 'The message does not contain "jsonrpc": "2.0".'],
    ])
      expect(await service.cli(['mcp', 'request', '--input', '-'], { stdin: invalidMessage as string })).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(problem as string),
      });
    expect((await service.cli(['mcp', 'request'])).code).toBe(2);
  });
});

describe('mcp config', () => {
  it('contains the program, but no secret', async () => {
    const folders = Object.fromEntries(Object.entries(service.env).filter(([name]) => /_DIR$/.test(name)));
    const { mcpServers } = (await service.cli(['mcp', 'config'])).json<{ mcpServers: Record<string, unknown> }>();
    expect(mcpServers).toEqual({ aops: { command: 'aops', args: ['mcp', 'serve'], env: folders } });
    const absolute = (await service.cli(['mcp', 'config', '--absolute', '--name', 'ops', '--json'])).json<{
      mcpServers: Record<string, unknown>;
    }>();
    expect(absolute.mcpServers).toMatchObject({ ops: { command: process.execPath, args: ['aops', 'mcp', 'serve'] } });
  });

  it('contains the address for clients that connect directly', async () => {
    const printResult = await service.cli(['mcp', 'config', '--http']);
    expect(printResult.json<{ mcpServers: { aops: object } }>().mcpServers.aops).toEqual({
      type: 'http',
      url: `${service.service.url}/v2/mcp`,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the client fills it in
      headers: { Authorization: 'Bearer ${AOPS_API_KEY}' },
    });
    expect(printResult.stdout).not.toContain(service.service.token);
  });
});

it('a call without a response is settled by aops retry with the original request', async () => {
  const server = await RawServer.start(noAnswer('stall'));
  whenDone(() => server.close());
  const env = { AOPS_BASE_URL: server.url, AOPS_NO_RATE_SHARING: '1' };
  const call = ['mcp', 'request', 'tools/call', '-f', 'name=do', '--idempotency-key', 'mcp-lost'];
  expect((await service.cli([...call, '--timeout', '3s'], { env })).code).toBe(9);
  const doneEvent = 'data: {"jsonrpc":"2.0","id":"tools/call","result":{"ok":true}}\n\n';
  server.plan(answer(200, doneEvent, { 'content-type': 'text/event-stream' }));
  const settleResult = await service.cli(['retry', 'mcp-lost', '--json'], { env });
  expect(settleResult.json()).toMatchObject({ result: { ok: true } });
  const [first, second] = server.requests as [RecordedRequest, RecordedRequest];
  expect(second.body.equals(first.body)).toBe(true);
  for (const name of ['accept', 'content-type', 'idempotency-key', 'mcp-method', 'mcp-name', 'mcp-protocol-version'])
    expect([name, second.headers[name]]).toEqual([name, first.headers[name]]);
});
