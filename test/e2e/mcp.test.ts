/** `aops mcp serve` as clients start it: the real program, with official clients for both protocol versions, and with plain pipes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { answer, json, RawServer, reply } from '../faults/raw-server.ts';
import { eventually } from '../support/eventually.ts';
import { commandLine } from '../support/machine.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { whenDone } from '../support/temporary.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const identity = { name: 'test', version: '1' };
const server = commandLine('mcp', 'serve');
const launch = (): { command: string; args: string[]; env: Record<string, string> } => ({
  command: server[0],
  args: server[1],
  env: service.env,
});

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<void>;
}

describe.each<[string, () => Promise<AnyClient>]>([
  [
    'a client of the previous protocol',
    async () => {
      const client = new LegacyClient(identity);
      await client.connect(new LegacyTransport(launch()));
      return client as unknown as AnyClient;
    },
  ],
  [
    'a client of the current protocol',
    async () => {
      const client = new ModernClient(identity, { versionNegotiation: { mode: 'auto' } });
      await client.connect(new ModernTransport(launch()));
      expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
      return client as unknown as AnyClient;
    },
  ],
])('%s', (_, connect) => {
  it('starts a run and waits for it', async () => {
    const client = await connect();
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('start_run');
    const agent = await service.agent('- say: hello');
    const startResult = (await client.callTool({ name: 'start_run', arguments: { agent_id: agent } })) as {
      structuredContent: { run: { id: string } };
    };
    const waitResult = await client.callTool({ name: 'wait_for_run', arguments: { run_id: startResult.structuredContent.run.id } });
    expect(waitResult).toMatchObject({ structuredContent: { run: { status: 'completed' }, still_running: false } });
    await client.close();
  });
});

interface Bridge {
  child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  ended: Promise<number | null>;
}

function bridge(argv: string[] = [], env: Record<string, string> = service.env): Bridge {
  const child = spawn(...commandLine('mcp', 'serve', ...argv), { env, stdio: 'pipe' });
  whenDone(async () => void child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, stdout: () => out, stderr: () => err, ended: exit };
}

const rpc = (method: string, id?: unknown, params?: unknown): string =>
  `${JSON.stringify({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method, ...(params ? { params } : {}) })}\n`;

describe('the streams', () => {
  it('contain only messages on stdout, even with --debug, and everything else on stderr', async () => {
    const { child, stdout, stderr, ended } = bridge(['--debug']);
    child.stdin?.end(`${rpc('tools/list', 0)}nonsense\n${rpc('nothing', 'x')}`);
    expect(await ended).toBe(0);
    const lines = stdout()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: unknown });
    expect(lines.map(({ id }) => id).sort()).toEqual([0, null, 'x'].sort());
    expect(stderr()).toContain('POST');
    expect(stderr() + stdout()).not.toContain(service.service.token);
  });

  it('end with the input, after calls in progress have been answered', async () => {
    const run = await service.run('- say: hello');
    await service.until(run, 'completed');
    const { child, stdout, ended } = bridge();
    child.stdin?.end(rpc('tools/call', 1, { name: 'wait_for_run', arguments: { run_id: run } }));
    expect(await ended).toBe(0);
    expect(JSON.parse(stdout())).toMatchObject({ id: 1, result: { structuredContent: { still_running: false } } });
  });

  it('end with SIGTERM in the middle of a call, which still gets its answer', async () => {
    const run = await service.waiting('- approve: { id: a, title: Wait }\n- say: done');
    const server = await RawServer.start();
    whenDone(() => server.close());
    server.always({ after: 'request', bytes: () => '', ending: 'stall' });
    const { child, stdout, ended } = bridge([], { ...service.env, AOPS_BASE_URL: server.url });
    child.stdin?.write(rpc('tools/call', 7, { name: 'get_run', arguments: { run_id: run } }));
    await eventually('the call is in progress', () => server.requests.length > 0);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(JSON.parse(stdout())).toMatchObject({ id: 7, error: { message: expect.stringContaining('Terminated') } });
  });

  it('carry large messages to a slow reader', async () => {
    const text = 'ü'.repeat(5_000_000);
    const server = await RawServer.start();
    whenDone(() => server.close());
    server.always(
      reply((request) => (request.method === 'POST' ? json(200, { jsonrpc: '2.0', id: 1, result: { text } }) : answer(405, ''))),
    );
    const { child, stdout, ended } = bridge([], { ...service.env, AOPS_BASE_URL: server.url });
    child.stdout?.pause();
    child.stdin?.end(rpc('echo', 1, { text }));
    await eventually('the message is there', () => server.requests.length > 0);
    child.stdout?.resume();
    expect(await ended).toBe(0);
    expect((JSON.parse(server.requests[0]?.body.toString() ?? '') as { params: { text: string } }).params.text).toBe(text);
    expect((JSON.parse(stdout()) as { result: { text: string } }).result.text === text).toBe(true);
  });

  it('require a signed-in user', async () => {
    const { AOPS_API_KEY: _, ...env } = service.env;
    const { child, stdout, stderr, ended } = bridge([], env);
    child.stdin?.end();
    expect([await ended, stdout()]).toEqual([4, '']);
    expect(stderr()).toContain('You are not signed in');
  });
});
