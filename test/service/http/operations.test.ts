import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { tarOf } from '../../support/tar.ts';
import { covers } from '../helpers/coverage.ts';
import type { Behaviour } from '../helpers/runtime.ts';
import { type Api, config } from '../helpers/service.ts';

const png = Buffer.from('89504e470d0a1a0a', 'hex');

const behaviours: Record<string, Behaviour> = {
  browse: async (host) => {
    await host.sandbox.write('out/note.txt', Buffer.from('hé'));
    const image = { name: 'page.png', mimeType: 'image/png', bytes: png };
    const input = { url: 'https://example.test/', title: 'Example' };
    await host.commit('shot', null, [
      { kind: 'tool_call', id: 'c', name: 'browser' },
      { kind: 'tool_result', id: 'r', callId: 'c', error: 'slow', screenshot: 's' },
      { kind: 'screenshot', id: 's', toolName: 'browser', action: 'open', startedAt: new Date(host.clock.now()), input, image },
    ]);
    return { status: 'completed' };
  },
  ask: async (host) =>
    host.answer('q') === undefined
      ? {
          status: 'waiting',
          step: 'q',
          request: {
            type: 'question',
            title: 'Vendor',
            questions: [{ question: 'Which vendor?', options: [{ label: 'Acme, Inc' }, { label: 'Bolt' }] }],
          },
        }
      : { status: 'completed' },
};

const service = covers('teams', 'agents', 'sandboxes', 'runs');
const api = (): Promise<Api> => service({ behaviours });

const failure = (answer: { status: number; body: unknown }) => [answer.status, (answer.body as { error?: string }).error];

describe('teams and agents', () => {
  it('shows only the own team', async () => {
    const service = await api();
    expect((await service.ok('getTeam')).team).toMatchObject({ id: service.service.teamId, name: 'Local' });
    const { team } = await service.ok('getTeam');
    expect(await service.ok('listTeams')).toEqual({ teams: [team], total: 1, limit: 20, offset: 0 });
    expect(await service.ok('listTeams', { query: { offset: 1, limit: 5 } })).toEqual({ teams: [], total: 1, limit: 5, offset: 1 });
    expect(failure(await service.call('getTeam', { params: { teamId: randomUUID() } }))).toEqual([404, 'team_not_found']);
    expect(failure(await service.call('listRuns', { params: { teamId: randomUUID() } }))).toEqual([404, 'team_not_found']);
  });

  it('creates agents with unique names, and lists, changes, and deletes them', async () => {
    const service = await api();
    const { agent, build } = await service.ok('createAgent', {
      body: { name: ' Clerk ', build: { name: 'first', config: config('done') } },
    });
    expect(agent.name).toBe('Clerk');
    expect(build).toMatchObject({ status: 'live', revision_number: 1, agent_id: agent.id });
    expect(failure(await service.call('createAgent', { body: { name: 'Clerk' } }))).toEqual([409, 'agent_name_taken']);
    expect(failure(await service.call('createAgent', { body: { name: '  ' } }))).toEqual([400, 'invalid_request']);
    const bareAgent = (await service.ok('createAgent', { body: { name: 'Bare' } })).agent;
    const copy = await service.ok('createAgent', { body: { name: 'Copy', source_build_id: build?.id as string } });
    expect(copy.build).toMatchObject({ parent_build_id: build?.id, config: config('done') });

    const agentList = await service.ok('listAgents', { query: { limit: 2 } });
    expect(agentList).toMatchObject({ total: 3, limit: 2, offset: 0 });
    expect(agentList.agents).toHaveLength(2);
    const changedAgent = await service.ok('updateAgent', {
      params: { agent_id: bareAgent.id },
      body: { name: 'Plain', pinned: true, slack_enabled: true },
    });
    expect(changedAgent).toMatchObject({ agent: { name: 'Plain', slack_enabled: true }, user_context: { pinned_at: expect.any(String) } });
    expect(failure(await service.call('updateAgent', { params: { agent_id: bareAgent.id }, body: { name: 'Clerk' } }))).toEqual([
      409,
      'agent_name_taken',
    ]);
    expect((await service.ok('getAgent', { params: { agent_id: bareAgent.id } })).agent.name).toBe('Plain');
    expect(failure(await service.call('startRun', { body: { agent_id: bareAgent.id } }))).toEqual([409, 'agent_has_no_live_revision']);

    await service.ok('deleteAgent', { params: { agent_id: bareAgent.id } });
    expect(failure(await service.call('getAgent', { params: { agent_id: bareAgent.id } }))).toEqual([404, 'agent_not_found']);
    await service.ok('createAgent', { body: { name: 'Plain' } });
  });

  it('lists agents with the time of their last run, also only those of an automation', async () => {
    const api = await service();
    const automation_id = randomUUID();
    const agentId = await api.agent('done', 'Busy');
    const { agent: automated } = await api.ok('createAgent', { body: { name: 'Automated', automation_id } });
    const runs = [];
    for (let count = 0; count < 2; count += 1) runs.push((await api.ok('startRun', { body: { agent_id: agentId } })).run);
    const { agents } = await api.ok('listAgents');
    expect(agents.map(({ name, last_run_at }) => [name, last_run_at])).toEqual([
      ['Automated', null],
      ['Busy', runs[1]?.created_at],
    ]);
    const list = await api.ok('listAgents', { query: { automation_id } });
    expect([list.total, list.agents.map(({ id }) => id)]).toEqual([1, [automated.id]]);
  });

  it('refuses procedures that cannot be executed', async () => {
    const service = await api();
    const refusal = await service.call('createAgent', { body: { name: 'A', build: { name: 'b', config: config('done', 'gpt') } } });
    expect(failure(refusal)).toEqual([400, 'unknown_runtime']);
    expect(refusal.text).toContain('test');
    const invalidAnswer = await service.call('createAgent', { body: { name: 'A', build: { name: 'b', config: config('nonsense') } } });
    expect(invalidAnswer).toMatchObject({ status: 400, body: { error: 'invalid_procedure', details: [{ line: 1 }] } });
    expect((await service.ok('listAgents')).total).toBe(0);
  });

  it('drafts, edits, and promotes revisions', async () => {
    const service = await api();
    const agentId = await service.agent('done');
    const draftRevision = await service.ok('createRevision', {
      params: { agent_id: agentId },
      body: { name: 'second', config: config('ask') },
    });
    expect(draftRevision).toMatchObject({ agent: { id: agentId }, build: { status: 'draft', revision_number: 2 } });
    const buildId = draftRevision.build.id;
    const copiedRevision = await service.ok('createRevision', { params: { agent_id: agentId }, body: { name: 'copy' } });
    // Fields that were left out are null, and the others are returned unchanged.
    const { data } = config('done');
    expect(copiedRevision.build.config).toEqual({
      version: 'v2',
      data: { ...data, files: null, skills: null, plugins: null, subAgents: null },
    });
    const editedRevision = await service.ok('updateRevision', {
      params: { build_id: buildId },
      body: { revision_name: 'Asking', config: config('browse') },
    });
    expect(editedRevision.build).toMatchObject({ revision_name: 'Asking', config: config('browse') });
    const refusal = await service.call('updateRevision', { params: { build_id: buildId }, body: { config: config('nonsense') } });
    expect(failure(refusal)).toEqual([400, 'invalid_procedure']);
    await service.ok('promoteRevision', { params: { build_id: buildId } });
    expect(failure(await service.call('promoteRevision', { params: { build_id: buildId } }))).toEqual([409, 'revision_already_live']);
    const { builds, total } = await service.ok('listAgentRevisions', { params: { agent_id: agentId }, query: { limit: 2 } });
    expect([total, builds.map(({ status }) => status)]).toEqual([3, ['draft', 'live']]);
    const first = (await service.ok('listAgentRevisions', { params: { agent_id: agentId }, query: { offset: 2 } })).builds[0];
    expect(first?.status).toBe('archived');
    expect((await service.ok('getRevision', { params: { agent_id: agentId, build_id: buildId } })).build.id).toBe(buildId);
    const otherAgent = await service.agent('done', 'Other');
    expect((await service.call('getRevision', { params: { agent_id: otherAgent, build_id: buildId } })).status).toBe(404);
    const duplicateInput = {
      params: { agent_id: agentId },
      body: { name: 'again', config: copiedRevision.build.config as ReturnType<typeof config> },
    };
    expect((await service.ok('createRevision', duplicateInput)).build.config).toEqual(copiedRevision.build.config);
    const fileConfig = { version: 'v2' as const, data: { ...data, files: ['a.txt'], skills: [] } };
    const createdRevision = await service.ok('createRevision', {
      params: { agent_id: agentId },
      body: { name: 'given', config: fileConfig },
    });
    expect(createdRevision.build.config).toMatchObject({ data: { files: ['a.txt'], skills: [], plugins: null, subAgents: null } });
  });

  it('keeps the procedure of a run that has started when its live revision is edited', async () => {
    const service = await api();
    const { agent, build } = await service.ok('createAgent', { body: { name: 'Clerk', build: { name: 'first', config: config('ask') } } });
    const { run } = await service.ok('startRun', { body: { agent_id: agent.id } });
    const { pending_human_request: request } = await service.until(run.id, 'waiting');
    await service.ok('updateRevision', { params: { build_id: build?.id as string }, body: { config: config('browse') } });
    await service.ok('respondToHumanRequest', {
      params: { run_id: run.id, request_id: request?.id as string },
      body: { answers: { 'Which vendor?': 'Acme, Inc' } },
    });
    await service.until(run.id, 'completed');
    expect(await service.texts(run.id)).toEqual(['Which vendor? Acme, Inc']);
  });
});

describe('the run list', () => {
  it('filters, counts, and pages', async () => {
    const service = await api();
    const agentId = await service.agent('done', 'Über Clerk');
    const startedRuns = [];
    for (const message of ['Check 50% of A_1\nplease', undefined, 'x'.repeat(200)]) {
      const { run } = await service.ok('startRun', { body: { agent_id: agentId, ...(message === undefined ? {} : { message }) } });
      startedRuns.push(await service.until(run.id, 'completed'));
    }
    const askingRun = await service.run('ask');
    await service.until(askingRun.id, 'waiting');

    const list = async (query: object) => (await service.ok('listRuns', { query: query as never })).data.map((run) => run.run_number);
    expect(await list({})).toEqual([4, 3, 2, 1]);
    expect(await list({ sort_order: 'asc', limit: 2, offset: 1 })).toEqual([2, 3]);
    expect(await list({ offset: 100 })).toEqual([]);
    expect(await list({ agent_id: agentId })).toEqual([3, 2, 1]);
    expect(await list({ status: 'waiting' })).toEqual([4]);
    expect(await list({ status: 'needs_attention' })).toEqual([4]);
    expect(await list({ status: 'stopped' })).toEqual([]);
    expect(await list({ source: 'api' })).toHaveLength(4);
    expect(await list({ source: 'schedule' })).toEqual([]);
    expect(await list({ search: '50% of a_1' })).toEqual([1]);
    expect(await list({ search: '%' })).toEqual([1]);
    expect(await list({ search: 'über' })).toEqual([3, 2, 1]);
    expect(await list({ search: startedRuns[1]?.id.slice(-8) })).toEqual([2]);
    expect(await list({ search: startedRuns[1]?.id.slice(0, 7) })).toEqual([]);
    const since = startedRuns[1]?.created_at as string;
    expect(await list({ since })).toEqual([4, 3, 2]);
    expect(await list({ until: since })).toEqual([1]);
    for (const unmatchedQuery of [
      { user_id: agentId },
      { case_queue_id: agentId },
      { digest_id: agentId },
      { has_issues: 'true' },
      { issue_severity: 'low' },
    ]) {
      expect(await list(unmatchedQuery)).toEqual([]);
    }
    expect(await service.ok('listRuns', { query: { count_only: 'true' } })).toEqual({ data: [], total: 4 });
    expect((await service.ok('listRuns', { query: { include_total: 'false', limit: 2 } })).total).toBe(3);
    const { data } = await service.ok('listRuns');
    expect(data[0]?.pending_human_request).toMatchObject({ title: 'Vendor' });
    expect(data.map(({ title }) => title).slice(1)).toEqual([`${'x'.repeat(79)}…`, 'Über Clerk #2', 'Check 50% of A_1']);
  });

  it('refuses invalid filters', async () => {
    const service = await api();
    for (const [name, value] of Object.entries({ limit: 'NaN', offset: -1, status: 'sleepy', since: 'yesterday', agent_id: 'Clerk' })) {
      const answer = await service.call('listRuns', { query: { [name]: value } });
      expect(failure(answer)).toEqual([400, 'invalid_request']);
      expect((answer.body as unknown as { details: { path: string }[] }).details[0]?.path).toBe(name);
    }
    expect((await service.call('listRuns', { query: { offset: '99999999999999999999' } })).status).toBe(400);
    expect((await service.ok('listRuns', { query: { offset: Number.MAX_SAFE_INTEGER } })).data).toEqual([]);
    for (const limit of [0, 101, '1e2', '1.5']) expect((await service.call('listRuns', { query: { limit } })).status).toBe(400);
    expect((await service.send('GET', `/v2/teams/${service.service.teamId}/runs?limit=1&limit=2`)).status).toBe(400);
  });
});

describe('a run that browsed', () => {
  it('has files, screenshots, pages, a detail, and a report', async () => {
    const service = await api();
    const run = await service.run('browse', 'look');
    await service.until(run.id, 'completed');
    const byRun = { run_id: run.id };
    const byAgent = { ...byRun, agent_id: run.agent_id as string };

    const { data: root } = await service.ok('listRunSandboxFiles', { params: byRun });
    expect(root).toMatchObject({ sandboxStatus: 'paused', path: '/workspace', entries: [{ name: 'out', type: 'directory' }] });
    const { data: out } = await service.ok('listAgentRunSandboxFiles', { params: byAgent, query: { path: 'out' } });
    expect(out.entries).toMatchObject([{ path: '/workspace/out/note.txt', size: 3, isTextFile: true }]);
    const { data: note } = await service.ok('getRunSandboxFileContent', { params: byRun, query: { path: '/workspace/out/note.txt' } });
    expect(note).toMatchObject({ content: 'hé', truncated: false, download_url: null, encoding: 'utf-8' });
    const sameContent = await service.ok('getAgentRunSandboxFileContent', { params: byAgent, query: { path: 'out/note.txt' } });
    expect(sameContent.data.content).toBe('hé');
    expect(failure(await service.call('getRunSandboxFileContent', { params: byRun }))).toEqual([400, 'invalid_request']);
    expect((await service.call('getRunSandboxFileContent', { params: byRun, query: { path: 'none' } })).status).toBe(404);

    const { data: timeline } = await service.ok('getRunScreenshotTimeline', { params: byRun });
    const [shot] = timeline.toolExecutions;
    expect(shot).toMatchObject({ toolName: 'browser', action: 'open', input: { url: 'https://example.test/' }, beforeScreenshot: null });
    expect((await service.ok('getAgentRunScreenshotTimeline', { params: byAgent })).data.toolExecutions).toHaveLength(1);
    const { messages } = await service.ok('listRunMessages', { params: byRun });
    const { file_id = '' } = (messages.at(-1)?.tool_result?.result ?? {}) as { file_id?: string };
    const file = await service.ok('downloadRunFile', { params: { ...byRun, file_id } });
    expect(file).toMatchObject({ name: 'page.png', mime_type: 'image/png', size: png.length });
    const bytes = await service.send('GET', file.download_url, { anonymous: true });
    expect(bytes.headers).toMatchObject({
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
      'repr-digest': expect.stringMatching(/^sha-256=:[\w+/]{43}=:$/),
    });
    expect([bytes.status, bytes.headers['content-type']]).toEqual([200, 'image/png']);

    const detail = await service.ok('getRunDetail', { params: { agentId: byAgent.agent_id, runId: run.id } });
    expect(detail).toMatchObject({
      run_number: 1,
      submitted_prompt_count: 1,
      conversationPagination: { total: 3, included: 3, hasMore: false },
    });
    const { pages } = await service.ok('listBrowserSessionPages', { params: { session_id: detail.bb_session_id as string } });
    expect(pages).toMatchObject([{ url: 'https://example.test/', title: 'Example' }]);
    expect((await service.call('listBrowserSessionPages', { params: { session_id: randomUUID() } })).status).toBe(404);
    const report = await service.ok('getWorkflowExecutionReport', { params: { agentId: byAgent.agent_id, runId: run.id } });
    expect(report).toEqual({
      provider: 'test',
      expectedProgrammatic: true,
      totalSteps: 2,
      executedSteps: 1,
      calls: 1,
      executions: 1,
      handoffs: 0,
      errors: 1,
      stopReasons: ['completed'],
      reachedCompletion: true,
      programmaticExecutionRate: 0.5,
    });

    const otherAgent = await service.agent('done', 'Stranger');
    for (const id of ['listAgentRunSandboxFiles', 'getAgentRunScreenshotTimeline'] as const) {
      expect((await service.call(id, { params: { ...byRun, agent_id: otherAgent } })).status).toBe(404);
    }
    expect((await service.call('getRunDetail', { params: { agentId: otherAgent, runId: run.id } })).status).toBe(404);
  });
});

describe('answers', () => {
  it('are checked against the question', async () => {
    const service = await api();
    const run = await service.run('ask');
    const { pending_human_request: request } = await service.until(run.id, 'waiting');
    const params = { run_id: run.id, request_id: request?.id as string };
    for (const body of [
      { approved: true },
      {},
      { answers: { 'Which vendor?': 'Nobody' } },
      { answers: { 'Which vendor?': 'Bolt' }, reason: 'x' },
      { answers: { 'Which colour?': 'red', 'Which vendor?': 'Bolt' } },
    ]) {
      const refusal = await service.call('respondToHumanRequest', { params, body });
      expect(failure(refusal)).toEqual([400, 'invalid_answer']);
    }
    const { human_request: answeredRequest } = await service.ok('respondToHumanRequest', {
      params,
      body: { answers: { 'Which vendor?': 'Acme, Inc' } },
    });
    expect(answeredRequest.response).toBe('Acme, Inc');
    await service.until(run.id, 'completed');
    const { human_requests: requests } = await service.ok('listRunHumanRequests', { params: { run_id: run.id } });
    expect(requests).toMatchObject([{ id: answeredRequest.id, status: 'answered', response: 'Acme, Inc' }]);
  });
});

describe('messages', () => {
  it('are paged in order', async () => {
    const service = await api();
    const run = await service.run('done', 'one');
    await service.until(run.id, 'completed');
    await service.ok('postRunMessage', { params: { run_id: run.id }, body: { message: 'two' } });
    await service.until(run.id, 'completed');
    const page = await service.ok('listRunMessages', { params: { run_id: run.id }, query: { limit: 1, offset: 1 } });
    expect(page).toMatchObject({ messages: [{ text_content: 'two' }], total: 2, limit: 1, offset: 1 });
    expect((await service.ok('listRunMessages', { params: { run_id: run.id }, query: { offset: 9 } })).messages).toEqual([]);
    expect((await service.call('postRunMessage', { params: { run_id: run.id }, body: { message: ' ' } })).status).toBe(400);
    await service.ok('stopRun', { params: { run_id: run.id } });
  });

  it('only answer the human request that they refer to', async () => {
    const service = await api();
    const run = await service.run('ask');
    await service.until(run.id, 'waiting');
    const post = (expected_human_request_id: string | null) =>
      service.call('postRunMessage', { params: { run_id: run.id }, body: { message: 'Bolt', expected_human_request_id } });
    for (const otherId of [null, randomUUID()]) expect(failure(await post(otherId))).toEqual([409, 'human_request_pending']);
    const { pending_human_request: pending } = await service.ok('getRun', { params: { run_id: run.id } });
    expect(pending).toMatchObject({ title: 'Vendor' });
    const acceptance = await post(pending?.id as string);
    expect(acceptance).toMatchObject({ status: 201, body: { human_request: { id: pending?.id, response: 'Bolt' } } });
    await service.until(run.id, 'completed');
    expect(failure(await post(pending?.id as string))).toEqual([409, 'run_not_waiting']);
    expect((await service.ok('listRunMessages', { params: { run_id: run.id } })).total).toBe(1);
    expect(await post(null)).toMatchObject({ status: 201, body: { human_request: null } });
    expect(failure(await post('no-id' as string))).toEqual([400, 'invalid_request']);
  });

  it('of unknown runs are not found', async () => {
    const service = await api();
    const params = { run_id: randomUUID(), request_id: randomUUID(), file_id: randomUUID() };
    for (const id of [
      'getRun',
      'listRunMessages',
      'stopRun',
      'downloadRunFile',
      'listRunSandboxFiles',
      'getRunScreenshotTimeline',
    ] as const) {
      expect(failure(await service.call(id, { params }))).toEqual([404, 'run_not_found']);
    }
    expect(failure(await service.call('postRunMessage', { params, body: { message: 'x' } }))).toEqual([404, 'run_not_found']);
    expect(failure(await service.call('respondToHumanRequest', { params, body: { approved: true } }))).toEqual([404, 'run_not_found']);
    expect(failure(await service.call('startRun', { body: { agent_id: randomUUID() } }))).toEqual([404, 'agent_not_found']);
    const agentId = await service.agent();
    expect(failure(await service.call('startRun', { body: { agent_id: agentId, webhook_url: 'ftp://a.test/x' } }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect(failure(await service.call('startRun', { body: { agent_id: agentId, sandbox_id: randomUUID() } }))).toEqual([
      404,
      'sandbox_not_found',
    ]);
  });
});

describe('a staged sandbox', () => {
  it('transfers several files of a sandbox as an archive', async () => {
    const service = await api();
    const { sandbox_id } = await service.ok('createSandbox');
    const body = tarOf({ 'in/a.txt': 'a', 'in/b.txt': 'bc' });
    expect(await service.ok('uploadSandboxArchive', { params: { sandbox_id }, body })).toEqual({ files: 2, size_bytes: 3 });
    const agent_id = await service.agent();
    const { run } = await service.ok('startRun', { body: { agent_id, sandbox_id } });
    await service.ok('getRunSandboxArchive', { params: { run_id: run.id } });
    await service.ok('getAgentRunSandboxArchive', { params: { agent_id, run_id: run.id } });
  });

  it('accepts files in both ways, and makes them available to a run', async () => {
    const service = await api();
    const { sandbox_id } = await service.ok('createSandbox');
    const form = new FormData();
    form.append('path', 'in/a.txt');
    form.append('file', new File(['hello'], 'a.txt'));
    const upload = await service.call('uploadSandboxFile', { params: { sandbox_id }, body: form });
    expect(upload.body).toEqual({ path: '/workspace/in/a.txt', size_bytes: 5 });
    const uploadGrant = await service.ok('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: './in/b.bin' } });
    expect(uploadGrant.path).toBe('/workspace/in/b.bin');
    const putAnswer = await service.send('PUT', uploadGrant.upload_url, { anonymous: true, body: Buffer.alloc(100_000) });
    expect(putAnswer).toMatchObject({ status: 201, body: { path: '/workspace/in/b.bin', size_bytes: 100_000 } });
    const { files } = await service.ok('listSandboxFiles', { params: { sandbox_id }, query: { path: '/workspace/in' } });
    expect(files.map(({ name, type, size_bytes }) => [name, type, size_bytes])).toEqual([
      ['a.txt', 'file', 5],
      ['b.bin', 'file', 100_000],
    ]);
    for (const path of ['../x', '/etc/passwd']) {
      expect(failure(await service.call('createSandboxUploadUrl', { params: { sandbox_id }, body: { path } }))).toEqual([
        400,
        'invalid_path',
      ]);
    }
    expect((await service.call('createSandboxUploadUrl', { params: { sandbox_id }, body: { path: 'in' } })).status).toBe(400);
    expect((await service.call('listSandboxFiles', { params: { sandbox_id: randomUUID() } })).status).toBe(404);

    const agentId = await service.agent('done');
    const { run } = await service.ok('startRun', { body: { agent_id: agentId, sandbox_id } });
    expect(run.sandbox_id).toBe(sandbox_id);
    const { data } = await service.ok('getRunSandboxFileContent', { params: { run_id: run.id }, query: { path: 'in/b.bin' } });
    expect(data).toMatchObject({ content: null, isTextFile: false, size: 100_000 });
    expect(failure(await service.call('getRunChanges', { params: { run_id: run.id } }))).toEqual([404, 'changes_not_found']);
  });
});
