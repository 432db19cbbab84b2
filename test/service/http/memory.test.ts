/** Memory files: they are written by runs, read by later runs, and written exactly once. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { memoryLimits } from '../../../src/service/engine/revision/memory.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { temporaryDirectory } from '../../support/temporary.ts';
import { ManualClock } from '../helpers/clock.ts';
import { covers } from '../helpers/coverage.ts';
import { type Behaviour, testRuntime } from '../helpers/runtime.ts';
import { type Api, config, type TestOptions } from '../helpers/service.ts';

const started = covers('memory');
const failure = (answer: { status: number; body: unknown }) => [answer.status, (answer.body as { error?: string }).error];
const service = (options: TestOptions & { behaviours?: Record<string, Behaviour> } = {}): Promise<Api> =>
  started({ clock: new ManualClock(), ...options, runtimes: [scriptRuntime, testRuntime(options.behaviours ?? {})] });

async function agent(api: Api, ...steps: string[]): Promise<string> {
  const input = `version: 1\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}`;
  const { agent: createdAgent } = await api.ok('createAgent', {
    body: { name: `A ${randomUUID()}`, build: { name: 'b', config: config(input, 'script') } },
  });
  return createdAgent.id;
}

async function run(
  api: Api,
  agentId: string,
  message = 'Hello',
): Promise<{ id: string; texts: string[]; error: string | null | undefined }> {
  const { run: startedRun } = await api.ok('startRun', { body: { agent_id: agentId, message } });
  const { error } = await api.until(startedRun.id, 'completed', 'failed', 'waiting');
  return { id: startedRun.id, texts: (await api.texts(startedRun.id)).slice(1), error };
}

const get = async (api: Api, agentId: string, path: string): Promise<string> =>
  (await api.ok('getAgentMemoryFile', { params: { agent_id: agentId, path } })).content;

describe('a memory file', () => {
  it('is written by one run and read by the next', async () => {
    const api = await service();
    const id = await agent(
      api,
      "say: \"Before: {{ memory['notes.md'] | default: 'nothing' }}\"",
      'remember: { path: notes.md, content: "Last: {{ message }}" }',
      'say: "After: {{ memory[\'notes.md\'] }}"',
    );
    const first = await run(api, id, 'one');
    expect(first.texts.filter((text) => text.includes(':'))).toEqual(['Before: nothing', 'After: Last: one']);
    const second = await run(api, id, 'two');
    expect(second.texts.filter((text) => text.includes(':'))).toEqual(['Before: Last: one', 'After: Last: two']);
    const params = { agent_id: id };
    const now = '2026-07-18T09:00:00.000Z';
    const provenance = { generation: '2', source_type: 'job', source_agent_run_id: second.id, source_updated_at: now };
    expect(await api.ok('listAgentMemoryFiles', { params })).toEqual({
      files: [{ name: 'notes.md', path: 'notes.md', updated_at: now, size: 9, ...provenance }],
    });
    expect(await api.ok('getAgentMemoryFile', { params: { ...params, path: 'notes.md' } })).toEqual({
      path: 'notes.md',
      content: 'Last: two',
      ...provenance,
    });
    const { messages } = await api.ok('listRunMessages', { params: { run_id: second.id } });
    expect(messages.find(({ tool_call }) => tool_call)?.tool_call).toMatchObject({ name: 'remember', arguments: { path: 'notes.md' } });
  });

  it('can be appended to line by line, and can contain JSON', async () => {
    const api = await service();
    const id = await agent(
      api,
      'remember: { path: logs/runs.txt, content: "{{ message }}", append: true }',
      'remember: { path: logs/runs.ndjson, json: { n: "{{ run.number }}" }, append: true }',
      'remember: { path: state.json, json: { last: "{{ message }}" } }',
    );
    await run(api, id, 'one');
    await run(api, id, 'two');
    expect(await get(api, id, 'logs/runs.txt')).toBe('one\ntwo');
    expect(await get(api, id, 'logs/runs.ndjson')).toBe('{"n":1}\n{"n":2}\n');
    expect(await get(api, id, 'state.json')).toBe('{\n  "last": "two"\n}\n');
    const { files } = await api.ok('listAgentMemoryFiles', { params: { agent_id: id } });
    expect(files.map(({ name, path }) => [name, path])).toEqual([
      ['runs.ndjson', 'logs/runs.ndjson'],
      ['runs.txt', 'logs/runs.txt'],
      ['state.json', 'state.json'],
    ]);
  });

  it('is found by its path, whether or not the slashes are encoded', async () => {
    const api = await service();
    const id = await agent(api, 'remember: { path: "a b/c%/d.md", content: deep }');
    await run(api, id);
    for (const path of ['a%20b/c%25/d.md', 'a%20b%2Fc%25%2Fd.md']) {
      const answer = await api.send('GET', `/v2/agents/${id}/memory/files/${path}`);
      expect([answer.status, (answer.body as { content: string }).content]).toEqual([200, 'deep']);
    }
    for (const path of ['a%20b', 'a%20b/c%25', 'a%20b/c%25/d.md/e'])
      expect(failure(await api.send('GET', `/v2/agents/${id}/memory/files/${path}`))).toEqual([404, 'memory_file_not_found']);
    for (const path of ['a%20b//d.md', '', '%2E%2E/x'])
      expect(failure(await api.send('GET', `/v2/agents/${id}/memory/files/${path}`))).toEqual([404, 'route_not_found']);
    expect(failure(await api.send('DELETE', `/v2/agents/${id}/memory/files/a/b`))).toEqual([405, 'method_not_allowed']);
  });

  it('belongs to its agent, and is deleted with it', async () => {
    const api = await service();
    const firstAgent = await agent(api, 'remember: { path: notes.md, content: mine }');
    const otherAgent = await agent(api, 'say: "<{{ memory[\'notes.md\'] }}>"');
    await run(api, firstAgent);
    expect((await run(api, otherAgent)).texts).toEqual(['<>']);
    expect(failure(await api.call('getAgentMemoryFile', { params: { agent_id: otherAgent, path: 'notes.md' } }))).toEqual([
      404,
      'memory_file_not_found',
    ]);
    await api.ok('deleteAgent', { params: { agent_id: firstAgent } });
    for (const id of ['listAgentMemoryFiles', 'getAgentMemoryFile'] as const)
      expect(failure(await api.call(id, { params: { agent_id: firstAgent, path: 'notes.md' } }))).toEqual([404, 'agent_not_found']);
  });
});

describe('the memory of an agent', () => {
  it('is neither read nor written while it is turned off, but retained', async () => {
    const api = await service();
    const id = await agent(api, 'say: "<{{ memory[\'notes.md\'] }}>"', 'remember: { path: notes.md, content: x }');
    await run(api, id);
    await api.ok('updateAgent', { params: { agent_id: id }, body: { agentic_memory_enabled: false } });
    const runWithoutMemory = await run(api, id);
    expect(runWithoutMemory.texts[0]).toBe('<>');
    expect(runWithoutMemory.error).toMatch(/^Step 2 \(remember, line 4\): The memory of this agent is turned off\. Turn it on with/);
    expect(await get(api, id, 'notes.md')).toBe('x');
    await api.ok('updateAgent', { params: { agent_id: id }, body: { agentic_memory_enabled: true } });
    expect((await run(api, id)).texts[0]).toBe('<x>');
  });

  it.each(['../x', '/etc/passwd', 'a//b', '.', 'a\\b', 'a\u0007', 'x'.repeat(256)])('has no file %j', async (path) => {
    const api = await service();
    const id = await agent(api, 'remember: { path: "{{ message }}", content: x }');
    expect((await run(api, id, path)).error).toMatch(/^Step 1 \(remember, line 3\): ".*" is not a valid path for a memory file/);
    expect((await api.ok('listAgentMemoryFiles', { params: { agent_id: id } })).files).toEqual([]);
  });

  it('has limits', async () => {
    const remember = (path: string, content: string) => ({ path, content, append: true });
    const api = await service({
      behaviours: {
        fill: async (host) => {
          for (let n = 0; n < memoryLimits.files; n++) await host.commit(`s${n}`, null, [], remember(`${n}.md`, 'x'));
          await host.commit('more', null, [], remember('more.md', 'x'));
          return { status: 'completed' };
        },
        grow: async (host) => {
          await host.commit('a', null, [], remember('big.md', 'x'.repeat(memoryLimits.fileBytes)));
          await host.commit('b', null, [], remember('big.md', 'x'));
          return { status: 'completed' };
        },
      },
    });
    const fullAgent = await api.agent('fill');
    expect((await run(api, fullAgent)).error).toMatch(/already has 200 memory files/);
    const growingAgent = await api.agent('grow');
    expect((await run(api, growingAgent)).error).toMatch(/would have 262146 bytes; the limit is 262144/);
    expect((await api.ok('listAgentMemoryFiles', { params: { agent_id: growingAgent } })).files).toMatchObject([
      { size: 262144, generation: '1' },
    ]);
  });
});

describe('a restart', () => {
  it('appends exactly once, and keeps what was written before', async () => {
    const dataDirectory = await temporaryDirectory();
    const api = await service({ dataDirectory });
    const id = await agent(
      api,
      'remember: { path: log.txt, content: "{{ message }}", append: true }',
      'approve: { id: go, title: Go? }',
      'say: "log: {{ memory[\'log.txt\'] }}"',
    );
    const waitingRun = await run(api, id, 'once');
    await api.service.close();
    const after = await service({ dataDirectory });
    const { pending_human_request: request } = await after.ok('getRun', { params: { run_id: waitingRun.id } });
    await after.ok('respondToHumanRequest', {
      params: { run_id: waitingRun.id, request_id: request?.id as string },
      body: { approved: true },
    });
    await after.until(waitingRun.id, 'completed');
    expect((await after.texts(waitingRun.id)).at(-1)).toBe('log: once');
    expect(await get(after, id, 'log.txt')).toBe('once');
  });
});
