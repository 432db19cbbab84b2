/** Runs that call tools of connections: with real servers and real runs, and what is visible to whom. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunMessage } from '../../../src/interface/types.ts';
import { eventually } from '../../support/eventually.ts';
import { McpServer } from '../../support/mcp-server.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { whenDone } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';

let service: TestService;
let server: McpServer;
beforeAll(async () => {
  service = await startTestService();
  server = await mcpServer();
  await connect('tickets', server.url);
});

async function mcpServer(era?: 'both' | 'legacy'): Promise<McpServer> {
  const toolServer = await McpServer.start(era);
  whenDone(() => toolServer.close());
  return toolServer;
}

async function connect(name: string, url: string, headers: object = {}): Promise<string> {
  const body = { name, provider: 'user', auth_method: 'headers', server_url: url, headers };
  return (await service.api<{ id: string }>('POST', `/teams/${service.service.teamId}/connections`, body)).id;
}

const tools = (messages: RunMessage[]) => messages.map(({ tool_call, tool_result }) => tool_call ?? tool_result).filter(Boolean);

describe('a tool step with a connection', () => {
  it('finds it by its ID, too', async () => {
    const id = await connect('by-id', server.url);
    const run = await service.run(`- tool: { id: t, connection: ${id}, name: create_ticket, arguments: { title: x } }`);
    expect((await service.until(run, 'completed', 'failed')).run.status).toBe('completed');
  });

  it.each(['both', 'legacy'] as const)('calls a tool of a server that supports %s protocol versions', async (era) => {
    const otherServer = await mcpServer(era);
    otherServer.require('x-api-key', () => 'k-1');
    const id = await connect(`era-${era}`, otherServer.url, { secret: { 'X-Api-Key': 'k-1' } });
    const run = await service.run(
      `
- tool: { id: t, connection: era-${era}, name: create_ticket, arguments: { title: "About {{ message }}", count: 2, list: ["{{ run.number }}"] } }
- say: "{{ steps.t.structured.id }}, {{ steps.t.text }}, {{ steps.t.error }}."`,
      'the "March" invoices',
    );
    const { run: endedRun } = await service.until(run, 'completed', 'failed');
    expect(endedRun.status).toBe('completed');
    expect(otherServer.calls).toEqual([
      {
        name: 'create_ticket',
        arguments: { title: 'About the "March" invoices', count: 2, list: [expect.any(Number)] },
      },
    ]);
    const messages = await service.messages(run);
    expect(messages.at(-1)?.text_content).toBe('T-1, Created T-1, .');
    const result = {
      content: [{ type: 'text', text: 'Created T-1' }],
      structuredContent: { id: 'T-1', title: 'About the "March" invoices' },
    };
    expect(tools(messages)).toMatchObject([
      { id: '1-tool:call', name: `era-${era}.create_ticket`, arguments: { count: 2 } },
      { tool_call_id: '1-tool:call', result },
    ]);
    const detail = await service.api<{ integrationInstances: unknown[] }>('GET', `/agent/${endedRun.agent_id}/runs/${run}`);
    expect(detail.integrationInstances).toMatchObject([
      { id, name: `era-${era}`, provider: 'user', server_url: otherServer.url, deleted: false },
    ]);
    expect(JSON.stringify([messages, detail])).not.toContain('k-1');
    if (era === 'legacy') expect(otherServer.endCount).toBe(1);
  });

  it('reads JSON from a text, and leaves out binary data', async () => {
    const run = await service.run(`
- tool: { id: j, connection: tickets, name: json_text }
- tool: { id: p, connection: tickets, name: picture }
- say: "{{ steps.j.structured.open }} {{ steps.p.content[0].mimeType }} {{ steps.p.content[0].size }}"`);
    await service.until(run, 'completed');
    expect((await service.texts(run)).at(-1)).toBe('3 image/png 5');
    expect(JSON.stringify(await service.messages(run))).not.toContain('aGVsbG8=');
  });

  it.each([
    ['the tool says so', 'tickets', 'fail', 'Step 1 (tool, line 3): There is no such queue.'],
    ['the tool does not say why', 'tickets', 'fail_silently', 'Step 1 (tool, line 3): the tool failed without giving a reason.'],
    ['there is no such tool', 'tickets', 'nothing', 'Unknown tool nothing'],
    ['there is no such connection', 'nobody', 'x', 'Step 1 (tool, line 3): There is no connection nobody.'],
    ['the server is gone', 'gone', 'x', 'the connection gone could not be used: the connection was refused.'],
    ['the answer is too large', 'tickets', 'huge', 'it is unknown whether the tool did its work'],
  ])('fails the run if %s, unless the step may fail', async (_, connection, tool, words) => {
    if (connection === 'gone') await connect('gone', 'http://127.0.0.1:9/mcp');
    const step = (extraFields: string) =>
      `- tool: { id: t, connection: ${connection}, name: ${tool}${extraFields} }\n- say: "Next: {{ steps.t.error }}"`;
    const failedRun = await service.run(step(''));
    const { run } = await service.until(failedRun, 'failed', 'completed');
    expect(run.status).toBe('failed');
    expect(run.error).toContain(words);
    expect(tools(await service.messages(failedRun))).toMatchObject([{ name: `${connection}.${tool}` }, { error: expect.any(String) }]);
    const tolerantRun = await service.run(step(', on_error: continue'));
    await service.until(tolerantRun, 'completed');
    expect((await service.texts(tolerantRun)).at(-1)).toMatch(/^Next: ./);
  });

  it.each([
    ...[500, 502, 504].map(
      (status) => [status, `it responded with ${status}; it is unknown whether the tool did its work.`, false] as const,
    ),
    ...[400, 501].map((status) => [status, `could not be used: it responded with ${status}.`, true] as const),
  ])('says what an answer %i to the call means', async (status, words, isBroken) => {
    const otherServer = await mcpServer();
    const id = await connect(`behind-proxy-${status}`, otherServer.url);
    // As from a proxy that has lost the server after it has passed on the call.
    otherServer.guard = (request, response) => {
      if (request.headers['mcp-method'] !== 'tools/call') return false;
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
      return true;
    };
    const run = await service.run(`- tool: { connection: behind-proxy-${status}, name: json_text }`);
    const { run: endedRun } = await service.until(run, 'failed', 'completed');
    expect(endedRun.error).toContain(words);
    expect(await service.api('GET', `/connections/${id}`)).toMatchObject({ broken_at: isBroken ? expect.any(String) : null });
  });

  it('ends at its time limit', async () => {
    const clock = new ManualClock();
    const secondService = await startTestService({ clock });
    const body = { name: 'tickets', provider: 'user', auth_method: 'url', server_url: server.url };
    await secondService.api('POST', `/teams/${secondService.service.teamId}/connections`, body);
    const before = server.calls.length;
    const run = await secondService.run('- tool: { connection: tickets, name: hang, timeout: 20s }');
    await eventually('the tool was called', () => Promise.resolve(server.calls.length > before));
    clock.advance(20_000);
    const endedRun = await secondService.until(run, 'failed');
    expect(endedRun.run.error).toContain('there was no response within 20s; it is unknown whether the tool did its work.');
    const { integrations } = await secondService.api<{ integrations: object[] }>(
      'GET',
      `/teams/${secondService.service.teamId}/connections`,
    );
    expect(integrations).toMatchObject([{ broken_at: null }]);
  });

  it('ends with its run', async () => {
    const before = server.calls.length;
    const hangingRun = await service.run('- tool: { connection: tickets, name: hang }');
    await eventually('the tool was called', () => Promise.resolve(server.calls.length > before));
    await service.api('POST', `/runs/${hangingRun}/stop`);
    expect((await service.get(hangingRun)).run.status).toBe('interrupted');
    const connections = await service.api<{ integrations: { name: string; broken_at: string | null }[] }>(
      'GET',
      `/teams/${service.service.teamId}/connections`,
    );
    expect(connections.integrations.find(({ name }) => name === 'tickets')?.broken_at).toBeNull();
    expect(connections.integrations.find(({ name }) => name === 'gone')?.broken_at).not.toBeNull();
  });

  it('does not say that a connection works again after a call of which that is unclear', async () => {
    const otherServer = await mcpServer();
    const id = await connect('flaky', otherServer.url);
    const brokenReason = async () => (await service.api<{ broken_reason: string | null }>('GET', `/connections/${id}`)).broken_reason;
    const call = async (tool: string) => {
      const run = await service.run(`- tool: { connection: flaky, name: ${tool}, on_error: continue }`);
      await service.until(run, 'completed');
      return brokenReason();
    };
    otherServer.require('x-api-key', () => 'k-1');
    const reason = await call('json_text');
    expect(reason).toEqual(expect.any(String));
    otherServer.guard = () => false;
    expect(await call('huge')).toBe(reason);
    expect(await call('fail')).toBeNull();
  });

  it('does not use the connection of another team, and needs an ID if a name is ambiguous', async () => {
    await connect('twin', server.url);
    const id = await connect('twin', server.url);
    const twinRun = await service.run('- tool: { connection: twin, name: json_text }');
    expect((await service.until(twinRun, 'failed')).run.error).toContain('2 connections are called twin; use an ID instead.');
    const runById = await service.run(`- tool: { connection: "${id}", name: json_text }`);
    await service.until(runById, 'completed');
    expect(tools(await service.messages(runById))[0]).toMatchObject({ name: 'twin.json_text' });
    const { team } = await service.api<{ team: { id: string } }>('POST', '/local/teams', { name: 'Others' });
    const { secret } = await service.api<{ secret: string }>('POST', '/local/tokens', { name: 't', team_id: team.id });
    const foreignResponse = await fetch(`${service.service.url}/v2/teams/${team.id}/connections`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'theirs', provider: 'user', auth_method: 'url', server_url: server.url }),
    });
    const foreignConnection = (await foreignResponse.json()) as { id: string };
    for (const word of ['theirs', foreignConnection.id]) {
      const run = await service.run(`- tool: { connection: "${word}", name: json_text }`);
      expect((await service.until(run, 'failed')).run.error).toContain(`There is no connection ${word}`);
    }
  });
});
