/** The official clients of both eras do what an assistant would: start a run, wait, answer its request, and read its file. */
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../support/service.ts';

interface ToolResult {
  isError?: boolean;
  content: { type: string; text: string }[];
  structuredContent: Record<string, unknown>;
}

/** The functions that both clients have. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string; annotations?: { readOnlyHint?: boolean } | undefined }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }, ...more: unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const identity = { name: 'test', version: '1' };
const access = () => ({ requestInit: { headers: { authorization: `Bearer ${service.service.token}` } } });
const endpoint = () => new URL(`${service.service.url}/v2/mcp`);

async function connectLegacy(): Promise<AnyClient> {
  const client = new LegacyClient(identity);
  await client.connect(new LegacyTransport(endpoint(), access()) as Transport);
  return client as unknown as AnyClient;
}

async function connectModern(): Promise<AnyClient> {
  const client = new ModernClient(identity, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new ModernTransport(endpoint(), access()));
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  return client as unknown as AnyClient;
}

/** The client of the modern era with its defaults: it starts like the previous era. */
async function connectWithoutNegotiation(): Promise<AnyClient> {
  const client = new ModernClient(identity);
  await client.connect(new ModernTransport(endpoint(), access()));
  return client as unknown as AnyClient;
}

describe.each([
  ['sdk 1, the era before', connectLegacy],
  ['client 2, negotiating', connectModern],
  ['client 2, as it comes', connectWithoutNegotiation],
])('%s', (_, connect) => {
  it('starts a run, waits for it, leaves its request to a person, and reads its file', async () => {
    const client = await connect();
    const call = async (name: string, args: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: args })) as unknown as ToolResult;
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'get_run')?.annotations?.readOnlyHint).toBe(true);

    const agent = await service.agent(`
- ask: { id: who, questions: [{ question: Who is the vendor?, options: [{ label: Acme GmbH }, { label: Acme Inc }] }] }
- write: { path: vendor.txt, content: "{{ answers.who }}" }`);
    const { run } = (await call('start_run', { agent_id: agent, message: 'Look at invoice 7' })).structuredContent as {
      run: { id: string };
    };
    const waitResult = await call('wait_for_run', { run_id: run.id });
    expect(waitResult.structuredContent).toMatchObject({ run: { status: 'waiting' }, still_running: false });
    expect(waitResult.content[0]?.text).toContain('one of "Acme GmbH", "Acme Inc"');
    const { id } = waitResult.structuredContent.pending_human_request as { id: string };
    // Only a person can answer, and this endpoint cannot ask one.
    const refusal = await call('respond_to_human_request', { run_id: run.id, request_id: id });
    expect(refusal).toMatchObject({ isError: true, structuredContent: { error: 'person_required' } });
    await service.api('POST', `/runs/${run.id}/human-requests/${id}/respond`, { answers: { 'Who is the vendor?': 'Acme Inc' } });
    expect((await call('wait_for_run', { run_id: run.id })).structuredContent).toMatchObject({ run: { status: 'completed' } });
    expect((await call('list_files', { run_id: run.id })).content[0]?.text).toContain('/workspace/vendor.txt (8 bytes)');
    expect((await call('read_file', { run_id: run.id, path: 'vendor.txt' })).content).toEqual([{ type: 'text', text: 'Acme Inc' }]);
    await client.close();
  });

  it('receives progress notifications', async () => {
    const client = await connect();
    const run = await service.run('- exec: { run: "until test -e go; do sleep 0.01; done" }\n- say: done');
    await service.until(run, 'running');
    const progress: string[] = [];
    const onprogress = ({ message = '' }: { message?: string }): void => {
      progress.push(message);
    };
    const args = { name: 'wait_for_run', arguments: { run_id: run, timeout_seconds: 1 } };
    // The first client takes the options as the third argument: the second is a schema.
    const options = connect === connectLegacy ? [undefined, { onprogress }] : [{ onprogress }];
    expect(await client.callTool(args, ...options)).toMatchObject({ structuredContent: { still_running: true } });
    expect(progress).toEqual(['The run is running.']);
    await service.api('POST', `/runs/${run}/stop`);
    await client.close();
  });
});
