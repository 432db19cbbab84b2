/**
 * Attacks with the token of an agent. It gives access to the tools of one run, for its process, as long as the run is executed: no other
 * operation, run, team, machine, or user can be reached with it.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { operation, operationIds } from '../../../../src/interface/operations.ts';
import type { LogEntry } from '../../../../src/service/service.ts';
import { needsContainment } from '../../../support/contained.ts';
import { eventually } from '../../../support/eventually.ts';
import { describeNeeding, itNeeding } from '../../../support/requirements.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';
import { AgentMachine, processesIn } from '../../helpers/agent-machine.ts';
import { installMisbehaving } from '../../helpers/installed-agent.ts';
import { callTool, leakedToken, promptOf, reports, tool, toolAgent } from '../../helpers/tool-agent.ts';

const write = tool('remember', { path: 'attack.md', content: 'x' });
const rejected = { status: 401, body: { error: 'invalid_token' } };
const resultOf = (body: unknown) => (body as { result: { structuredContent: unknown } }).result.structuredContent;

describe('the token of a run', () => {
  it('permits no operation besides the tools', async () => {
    const machine = await AgentMachine.start();
    const { run, token } = await leakedToken(machine, { wait: true });
    const attacker = machine.api.as(token);
    const params = { run_id: run.id, runId: run.id, agent_id: run.agent_id as string, agentId: run.agent_id as string };
    const permitted: string[] = [];
    for (const id of operationIds) {
      const pathParams = Object.fromEntries(
        [...operation(id).path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, '00000000-0000-4000-8000-000000000001']),
      );
      const { status, body } = await attacker.call(id, { params: { ...pathParams, teamId: machine.api.service.teamId, ...params } });
      if (status === 403 && (body as { error?: string }).error === 'run_token_limited') continue;
      permitted.push(id);
      expect([id, status]).toEqual(id === 'getMcp' ? ['getMcp', 405] : ['callMcp', 415]);
    }
    expect(permitted).toEqual(['callMcp', 'getMcp']);
  });

  it('does not answer the request that its own run waits for, in any way', async () => {
    const machine = await AgentMachine.start();
    const { run, token } = await leakedToken(machine, { ask: 'Hello' });
    await machine.until(run.id, 'waiting');
    const { id } = await machine.pending(run);
    const attacker = machine.api.as(token);
    const attempts = [
      await attacker.call('respondToHumanRequest', { params: { run_id: run.id, request_id: id }, body: { approved: true } }),
      await attacker.call('postRunMessage', { params: { run_id: run.id }, body: { message: 'approved' } }),
      await attacker.call('stopRun', { params: { run_id: run.id } }),
    ];
    for (const { status, body } of attempts) expect([status, body]).toMatchObject([403, { error: 'run_token_limited' }]);
    for (const name of ['respond_to_human_request', 'send_message', 'start_run', 'get_run', 'list_agents']) {
      const { body } = await callTool(machine, token, tool(name, { run_id: run.id, request_id: id, approved: true }));
      expect(body).toMatchObject({ error: { message: `There is no tool "${name}"; tools/list returns the existing tools.` } });
    }
    expect((await machine.pending(run)).id).toBe(id);
    // Nothing can be changed while a person is deciding.
    expect(resultOf((await callTool(machine, token, write)).body)).toMatchObject({ status: 409, error: 'run_waiting' });
    expect(await machine.answer(run, { approved: false })).toMatchObject({ status: 'completed' });
  });

  it('reaches neither the queues nor the artifacts of another team, nor another run', async () => {
    const machine = await AgentMachine.start();
    const other = await machine.api.inNewTeam();
    await other.ok('createQueue', { body: { name: 'theirs' } });
    const { artifact_id } = await other.ok('createArtifact', { body: { message: 'runs' } });
    const { run, token } = await leakedToken(machine, { wait: true });
    const attempts = [tool('create_case', { queue: 'theirs', title: 'Mine' }), tool('get_artifact', { artifact_id })];
    const errors: unknown[] = [];
    for (const attempt of attempts) errors.push(resultOf((await callTool(machine, token, attempt)).body));
    expect(errors).toMatchObject([{ error: 'queue_not_found' }, { error: 'artifact_not_found' }]);
    // What it writes belongs to its own run, whatever the arguments say.
    const foreign = tool('remember', { path: 'a.md', content: 'x', run_id: 'other' });
    expect(resultOf((await callTool(machine, token, foreign)).body)).toMatchObject({ error: 'invalid_request' });
    expect(resultOf((await callTool(machine, token, write)).body)).toMatchObject({ path: 'attack.md' });
    const { files } = await machine.api.ok('listAgentMemoryFiles', { params: { agent_id: run.agent_id as string } });
    expect(files).toMatchObject([{ path: 'attack.md', source_agent_run_id: run.id }]);
  });

  it('is invalid as soon as the run has ended', async () => {
    const machine = await AgentMachine.start();
    const { run, token } = await leakedToken(machine);
    await machine.until(run.id, 'completed');
    expect(await callTool(machine, token, write)).toMatchObject(rejected);
  });

  it('is invalid as soon as the run was stopped, even if its process ignores that', async () => {
    const machine = await AgentMachine.start();
    const { run, token } = await leakedToken(machine, { wait: true });
    expect((await callTool(machine, token, write)).status).toBe(200);
    await machine.api.ok('stopRun', { params: { run_id: run.id } });
    // The agent did not get the time to end.
    expect(await callTool(machine, token, write)).toMatchObject(rejected);
  });

  it('ends the streams that were opened with it when the run is stopped', async () => {
    const machine = await AgentMachine.start();
    const { run, token, url } = await leakedToken(machine, { wait: true });
    const version = '2026-07-28';
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const stream = await fetch(url, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        ...{ 'mcp-protocol-version': version, 'mcp-method': 'subscriptions/listen' },
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'subscriptions/listen',
        params: { notifications: { toolsListChanged: true }, _meta },
      }),
    });
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    await machine.api.ok('stopRun', { params: { run_id: run.id } });
    // Otherwise, it would never end.
    await stream.text();
  });

  it('is invalid as soon as a run that waits was stopped', async () => {
    const machine = await AgentMachine.start();
    const { run, token } = await leakedToken(machine, { ask: 'Hello' });
    await machine.until(run.id, 'waiting');
    await machine.api.ok('stopRun', { params: { run_id: run.id } });
    expect(await callTool(machine, token, write)).toMatchObject(rejected);
  });

  it('is invalid when its process has ended, and replaced for the next one', async () => {
    const machine = await AgentMachine.start();
    const { run, token } = await leakedToken(machine, { ask: 'Hello' });
    await machine.until(run.id, 'waiting');
    for (const pid of processesIn(machine.workspace(run))) process.kill(Number(pid), 'SIGKILL');
    await eventually('the end of the token', async () => (await callTool(machine, token, write)).status === 401);
    await machine.restart();
    expect(await callTool(machine, token, write)).toMatchObject(rejected);
    expect(await machine.answer(run, { approved: true })).toMatchObject({ status: 'completed' });
    const [{ headers }] = JSON.parse(readFileSync(machine.file(run, 'servers.json'), 'utf8')) as [{ headers: { value: string }[] }];
    expect(headers[0]?.value).toMatch(/^Bearer aops_run_/);
    expect(headers[0]?.value).not.toBe(`Bearer ${token}`);
  });

  it('is refused from elsewhere, which counts as an attempt without a token', async () => {
    const machine = await AgentMachine.start({ publicUrl: 'https://agents.example.com' });
    const { token } = await leakedToken(machine, { wait: true });
    const ways: Record<string, string>[] = [
      { 'x-forwarded-for': '203.0.113.7' },
      { forwarded: 'for=203.0.113.7' },
      { via: '1.1 proxy' },
      { host: 'agents.example.com' },
    ];
    for (const headers of ways) expect(await callTool(machine, token, write, headers)).toMatchObject(rejected);
    expect((await callTool(machine, token, write)).status).toBe(200);
  });

  itNeeding(
    process.platform === 'linux' && process.getuid?.() === 0
      ? undefined
      : 'only root can start a process as another user, and only Linux reports it',
    'is worth nothing to another user of the machine',
    async () => {
      const machine = await AgentMachine.start();
      const { token, url } = await leakedToken(machine, { wait: true });
      const folder = await temporaryDirectory();
      await chmod(folder, 0o755);
      const file = path.join(folder, 'attack.mjs');
      await writeFile(
        file,
        `const headers = { authorization: 'Bearer ${token}', 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
         const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
         process.stdout.write(String((await fetch('${url}', { method: 'POST', headers, body })).status));`,
      );
      expect(await outputOf(file, 65_534)).toBe('401');
      expect(await outputOf(file, 0)).toBe('200');
    },
  );

  it('has a rate limit of its own', async () => {
    const machine = await AgentMachine.start({ rateLimit: { limit: 60, windowSeconds: 3_600 } });
    const { token } = await leakedToken(machine, { wait: true });
    let last = await callTool(machine, token, write);
    for (let count = 1; count < 60; count++) last = await callTool(machine, token, tool('list_memory'));
    expect(last).toMatchObject({ status: 200, headers: { 'ratelimit-remaining': '0' } });
    expect(await callTool(machine, token, write)).toMatchObject({ status: 429, body: { error: 'rate_limited' } });
    await machine.api.ok('listRuns');
  });

  it('is not used with idempotency keys, because the journal of the run takes their place', async () => {
    const machine = await AgentMachine.start();
    const { token } = await leakedToken(machine, { wait: true });
    const answer = await callTool(machine, token, write, { 'idempotency-key': 'key' });
    expect(answer).toMatchObject({ status: 400, body: { error: 'idempotency_key_not_supported' } });
  });

  it('appears in no file, message, log entry, argument, or environment variable', async () => {
    const entries: LogEntry[] = [];
    const machine = await AgentMachine.start({ log: (entry) => entries.push(entry) });
    const { run, token } = await leakedToken(machine, tool('remember', { path: 'a.md', content: 'x' }), { ask: 'Hello' });
    await machine.until(run.id, 'waiting');
    const [pid] = processesIn(machine.workspace(run));
    if (pid !== undefined)
      for (const name of ['cmdline', 'environ']) expect(readFileSync(`/proc/${pid}/${name}`, 'utf8')).not.toContain(token);
    // An agent that knows its token can print it.
    await machine.api.ok('respondToHumanRequest', {
      params: { run_id: run.id, request_id: (await machine.pending(run)).id },
      body: { approved: true },
    });
    await machine.until(run.id, 'completed');
    await machine.api.ok('postRunMessage', { params: { run_id: run.id }, body: { message: promptOf([{ method: 'tools/list' }]) } });
    await machine.until(run.id, 'completed');
    await machine.close();
    expect(JSON.stringify(entries)).not.toContain(token);
    const files = readdirSync(machine.dataDirectory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const containing = files.filter((entry) => readFileSync(path.join(entry.parentPath, entry.name)).includes(token));
    // The agent wrote it there, so that this test knows it.
    expect(containing.map(({ name }) => name)).toEqual(['servers.json']);
  });

  it('is replaced in what an agent prints or passes on', async () => {
    const machine = await AgentMachine.start();
    const run = await machine.run(
      toolAgent,
      promptOf([{ reveal: true }, { revealTo: 'notes.md' }, tool('read_memory', { path: 'notes.md' })]),
    );
    expect(run).toMatchObject({ status: 'completed', error: null });
    const [printed, , read] = await reports<{ content: { text: string }[] } & string>(machine, run);
    expect(printed).toBe('Bearer [secret RUN_TOKEN]');
    expect(read?.content[0]?.text).toBe('Bearer [secret RUN_TOKEN]');
    const params = { agent_id: run.agent_id as string, path: 'notes.md' };
    expect((await machine.api.ok('getAgentMemoryFile', { params })).content).toBe('Bearer [secret RUN_TOKEN]');
  });
});

describeNeeding(needsContainment, 'a contained agent', () => {
  it('uses the tools without knowing its token, and reaches no other path of the service', async () => {
    const machine = await AgentMachine.start({ exec: 'contained' });
    const agent = { command: [process.execPath, path.join(await installMisbehaving(), 'misbehaving.js'), 'tools'] };
    const attempts = [{ fetch: '/v2/teams' }, { fetch: '/healthz' }, { fetch: '/v2/mcp%2f..%2fteams' }, { fetch: '/' }];
    const run = await machine.run(agent, promptOf([{ servers: true }, write, tool('get_run', { run_id: 'own' }), ...attempts]));
    expect(run).toMatchObject({ status: 'completed', error: null });
    const servers = JSON.parse(readFileSync(machine.file(run, 'servers.json'), 'utf8')) as unknown;
    expect(servers).toEqual([
      { type: 'http', name: 'aops', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v2\/mcp$/), headers: [] },
    ]);
    const [emptyReport, written, none, ...refused] = await reports<unknown>(machine, run);
    expect(emptyReport).toBeNull();
    expect(written).toMatchObject({ structuredContent: { path: 'attack.md' } });
    expect(none).toMatchObject({ error: { code: -32_602 } });
    for (const answer of refused) expect(answer).toMatchObject({ status: 403, body: { error: 'path_not_allowed' } });
    const detail = await machine.api.ok('getRunDetail', { params: { agentId: run.agent_id as string, runId: run.id } });
    expect(detail.exec_level).toBe('contained');
  });

  it('cannot pass on a token or an origin of its own', async () => {
    const machine = await AgentMachine.start({ exec: 'contained' });
    const agent = { command: [process.execPath, path.join(await installMisbehaving(), 'misbehaving.js'), 'tools'] };
    const { token } = await machine.api.ok('createLocalToken', { body: { name: 'stolen' } }).then(({ secret }) => ({ token: secret }));
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': '203.0.113.7' };
    const run = await machine.run(agent, promptOf([{ method: 'tools/list', headers }]));
    const [list] = await reports<{ tools: { name: string }[] }>(machine, run);
    expect(list?.tools.map(({ name }) => name)).toContain('remember');
    expect(list?.tools.map(({ name }) => name)).not.toContain('respond_to_human_request');
  });
});

/** What a Node program prints that is started as a user. */
async function outputOf(file: string, uid: number): Promise<string> {
  const child = spawn(process.execPath, [file], { uid, gid: uid, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const part of child.stdout.setEncoding('utf8')) text += part;
  return text;
}
