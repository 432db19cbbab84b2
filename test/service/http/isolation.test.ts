/**
 * Teams see nothing of each other. Every operation of the contract is called by a team with the ids of another, in its path
 * and in its body: nothing is found, nothing is told, nothing changes.
 */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type OperationId, operation, operationGroups, operationIds } from '../../../src/interface/operations.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { ManualClock } from '../helpers/clock.ts';
import { type Behaviour, testRuntime } from '../helpers/runtime.ts';
import { type Answer, type Api, type CallInput, config, started } from '../helpers/service.ts';

const behaviours: Record<string, Behaviour> = {
  everything: async (host) => {
    await host.sandbox.write('secret.txt', Buffer.from('the secret of A'));
    // A name of its own: nobody else has this file.
    const notes = { path: `${host.run.id}/notes.md`, content: 'the secret of A', append: false };
    const image = { name: 'secret.png', mimeType: 'image/png', bytes: Buffer.from('89504e470d0a1a0a', 'hex') };
    await host.commit(
      'shot',
      null,
      [
        { kind: 'text', id: 't', text: 'the secret of A' },
        {
          kind: 'screenshot',
          id: 's',
          toolName: 'browser',
          startedAt: new Date(host.clock.now()),
          input: { url: 'https://a.test/' },
          image,
        },
      ],
      notes,
    );
    return { status: 'waiting', step: 'q', request: { type: 'approval', title: 'the secret of A' } };
  },
};

const service = (): Promise<Api> => started({ clock: new ManualClock(), runtimes: [scriptRuntime, testRuntime(behaviours)] });

/** What a team has, under the names that paths give it. */
type Owned = Record<string, string>;

async function withEverything(api: Api): Promise<Owned> {
  const { webhook } = await api.ok('createTeamWebhook', { body: { url: 'http://127.0.0.1:9/secret' } });
  const { agent, build } = await api.ok('createAgent', {
    body: { name: 'secret agent', build: { name: 'b', config: config('everything') } },
  });
  const draft = await api.ok('createRevision', {
    params: { agent_id: agent.id },
    body: { name: 'draft', config: config('version: 1\nsteps:\n  - say: the secret of A\n', 'script') },
  });
  const { sandbox_id } = await api.ok('createSandbox');
  const { run } = await api.ok('startRun', { body: { agent_id: agent.id, message: 'the secret of A' } });
  await api.until(run.id, 'waiting');
  const { pending_human_request: request } = await api.ok('getRun', { params: { run_id: run.id } });
  const { data } = await api.ok('getRunScreenshotTimeline', { params: { run_id: run.id } });
  const { deliveries } = await api.ok('listWebhookDeliveries');
  const { generation } = await api.ok('generateRevision', {
    params: { build_id: draft.build.id },
    body: { prompt: 'say "Bye" at the end' },
  });
  const schedule = await api.ok('createSchedule', {
    params: { agent_id: agent.id },
    body: { enabled: true, frequency: 'daily', timezone: 'UTC', task: 'the secret of A' },
  });
  const { artifact_id } = await api.ok('createArtifact', { body: { message: 'title "the secret of A"; runs' } });
  const made = async () => (await api.ok('listArtifactRevisions', { params: { artifactId: artifact_id } })).current_revision_id;
  let revisionId = await made();
  for (; revisionId === null; revisionId = await made()) await new Promise((resolve) => setImmediate(resolve));
  const { rubric } = await api.ok('createEvalRubric', {
    params: { agentId: agent.id },
    body: { title: 'the secret of A', description: 'The final message contains "the secret of A".' },
  });
  const { queue } = await api.ok('createQueue', { body: { name: 'secret queue' } });
  const work = { title: 'the secret of A', labels: [{ key: 'secret', value: 'of A' }] };
  const { added_cases } = await api.ok('createCases', { params: { queue_id: queue.id }, body: { case: work } });
  const { labels } = await api.ok('listQueueLabels', { params: { queue_id: queue.id } });
  // Off, so that no run is started which would change what is read.
  const { case_trigger } = await api.ok('createAgentCaseTrigger', {
    params: { agent_id: agent.id },
    body: { case_queue_id: queue.id, enabled: false },
  });
  const connection = await api.ok('createConnection', {
    body: { name: 'secret connection', provider: 'user', auth_method: 'url', server_url: 'http://127.0.0.1:9/secret' },
  });
  // The signed URL of a screenshot says which file it is.
  const signed = new URL(data.toolExecutions[0]?.afterScreenshot?.signedUrl as string).pathname.split('/')[2] as string;
  const { fileId } = JSON.parse(Buffer.from(signed.split('.')[0] as string, 'base64url').toString()) as { fileId: string };
  return {
    teamId: api.service.teamId,
    subscriptionId: webhook.id,
    deliveryId: deliveries[0]?.id as string,
    agent_id: agent.id,
    agentId: agent.id,
    live_build_id: build?.id as string,
    build_id: draft.build.id,
    run_id: run.id,
    runId: run.id,
    session_id: run.id,
    request_id: request?.id as string,
    file_id: fileId,
    sandbox_id,
    builder_run_id: generation.builder_run_id,
    schedule_id: schedule.id,
    rubricId: rubric.id,
    path: `${run.id}/notes.md`,
    artifactId: artifact_id,
    revisionId,
    queue_id: queue.id,
    case_id: added_cases[0]?.id as string,
    label_id: labels[0]?.id as string,
    trigger_id: case_trigger.id,
    connection_id: connection.id,
    connectionId: connection.id,
    provider: 'github',
  };
}

/** Bodies that would do, were the target the caller's own. */
const bodies = (of: Owned): Partial<Record<OperationId, unknown>> => ({
  createTeamWebhook: { url: 'http://127.0.0.1:9/' },
  updateTeamWebhook: { description: 'mine' },
  createAgent: { name: 'mine' },
  updateAgent: { name: 'mine' },
  createRevision: { name: 'mine' },
  updateRevision: { revision_name: 'mine' },
  promoteRevision: {},
  uploadSandboxFile: form(),
  createSandboxUploadUrl: { path: 'x' },
  startRun: { agent_id: of.agent_id },
  postRunMessage: { message: 'mine' },
  respondToHumanRequest: { approved: true },
  createEvalRubric: { title: 'mine', description: 'The final message contains "mine".' },
  replaceEvalRubrics: { rubrics: [] },
  updateEvalRubric: { title: 'mine' },
  createSchedule: { enabled: true, frequency: 'daily', timezone: 'UTC' },
  updateSchedule: { task: 'mine' },
  generateRevision: { prompt: 'mine' },
  updateArtifact: { title: 'mine' },
  sendArtifactMessage: { message: 'mine' },
  publishArtifact: { visibility: 'team' },
  answerArtifactQuestion: { toolCallId: 'mine', answers: {} },
  attachArtifactConnection: { connection_id: randomUUID() },
  createQueue: { name: 'mine' },
  updateQueue: { description: 'mine' },
  createCases: { case: { title: 'mine' } },
  searchCases: { search: 'secret' },
  bulkDeleteCases: { case_ids: [of.case_id] },
  bulkReprocessCases: { case_ids: [of.case_id] },
  bulkUpdateCasePriority: { case_ids: [of.case_id], priority: 'high' },
  bulkUpdateCaseStatus: { case_ids: [of.case_id], status: 'completed' },
  createQueueLabel: { value: 'mine' },
  updateQueueLabel: { value: 'mine' },
  assignCaseLabels: { labels: [{ value: 'mine' }] },
  unlinkCaseLabels: { label_ids: [of.label_id] },
  createAgentCaseTrigger: { case_queue_id: of.queue_id, enabled: true },
  updateAgentCaseTrigger: { enabled: true },
  updateConnection: { name: 'mine' },
  createConnection: { name: 'mine', provider: 'user', auth_method: 'url', server_url: 'http://127.0.0.1:9/' },
  probeMcpServer: { server_url: 'http://127.0.0.1:9/', auth_method: 'url' },
  authorizeMcpOAuth: { mcp_server_url: 'http://127.0.0.1:9/', name: 'mine' },
  bulkDelegateCases: { case_ids: [of.case_id], agent_id: of.agent_id },
  bulkRetryCases: { case_ids: [of.case_id] },
  answerBuilderRun: { answers: { question: 'mine' } },
});

function form(): FormData {
  const form = new FormData();
  form.append('path', 'x');
  form.append('file', new File(['mine'], 'x'));
  return form;
}

const queries = (of: Owned): Partial<Record<OperationId, Record<string, string>>> => ({
  getRunSandboxFileContent: { path: 'secret.txt' },
  getAgentRunSandboxFileContent: { path: 'secret.txt' },
  previewAgentCaseTriggerConflicts: { case_queue_id: of.queue_id as string },
});

/** The owner of the data directory alone may use them, for all teams (local.test.ts). */
const administration = Object.keys(operationGroups.local);
const namesOf = (id: OperationId): string[] => [...operation(id).path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
const targeted = operationIds.filter((id) => namesOf(id).length > 0 && !administration.includes(id));

function inputFor(id: OperationId, of: Owned): CallInput {
  const unknown = namesOf(id).filter((name) => of[name] === undefined);
  expect(unknown, `say in withEverything() what the parameters of ${id} name`).toEqual([]);
  const [body, query] = [bodies(of)[id], queries(of)[id]];
  return {
    params: Object.fromEntries(namesOf(id).map((name) => [name, of[name] as string])),
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body }),
  };
}

/** Everything that the team can read. */
async function reading(api: Api, of: Owned): Promise<Record<string, string>> {
  const answers: Record<string, string> = {};
  for (const id of targeted) {
    // A PDF needs a browser, and never is the same twice.
    if (operation(id).method !== 'GET' || operation(id).produces === 'application/pdf') continue;
    // No run works on the case; the tools are asked from a server that is not there.
    if (id === 'listCaseRunRecentMessages' || id === 'listConnectionTools') continue;
    const answer = await api.call(id, inputFor(id, of));
    expect(answer.status, `${id} ${answer.text}`).toBe(200);
    answers[id] = answer.text;
  }
  return answers;
}

/** Until what happens beside the requests has happened: the builder run has its proposal, each delivery its first attempt. */
async function settled(api: Api, of: Owned): Promise<void> {
  for (;;) {
    const run = await api.ok('getBuilderRunStatus', { params: { builder_run_id: of.builder_run_id as string } });
    const { deliveries } = await api.ok('listWebhookDeliveries');
    if (run.status !== 'running' && deliveries.every(({ attempt_count }) => attempt_count > 0)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function expectNothing(answer: Answer, of: Owned, what: string): void {
  expect([answer.status, (answer.body as { error: string }).error], what).toEqual([404, expect.stringMatching(/_not_found$/)]);
  expect(answer.text).not.toContain('secret');
  // What was not named by the caller is not told either.
  for (const id of Object.values(of)) if (!what.includes(id)) expect(answer.text, what).not.toContain(id);
}

describe('a team', () => {
  it('finds nothing of another, and changes nothing, whatever it asks for', async () => {
    const owner = await service();
    const a = await owner.withToken();
    const b = await owner.inNewTeam();
    const [of, own] = [await withEverything(a), await withEverything(b)];
    await settled(a, of);
    const before = await reading(a, of);
    expect(JSON.stringify(before)).toContain('secret');
    for (const id of targeted) {
      const input = inputFor(id, of);
      const what = `${id} ${JSON.stringify(input.params)}${JSON.stringify(input.body ?? '')}`;
      expectNothing(await b.call(id, input), of, what);
      // Under its own team, or with one id of its own beside those of the other.
      for (const name of namesOf(id)) {
        if (namesOf(id).length === 1) continue;
        const mixed = { ...input, params: { ...input.params, [name]: own[name] as string } };
        expectNothing(await b.call(id, mixed), of, `${id} ${JSON.stringify(mixed.params)}${JSON.stringify(input.body ?? '')}`);
      }
    }
    expect(await reading(a, of)).toEqual(before);
  });

  it('cannot name what is of another in a body or a query', async () => {
    const owner = await service();
    const a = await owner.withToken();
    const b = await owner.inNewTeam();
    const [of, own] = [await withEverything(a), await withEverything(b)];
    const refused: [OperationId, CallInput][] = [
      ['startRun', { body: { agent_id: of.agent_id } }],
      ['startRun', { body: { agent_id: own.agent_id, sandbox_id: of.sandbox_id } }],
      ['createAgent', { body: { name: 'mine', source_build_id: of.build_id } }],
      ['createRevision', { params: { agent_id: own.agent_id as string }, body: { name: 'mine', source_build_id: of.build_id } }],
      ['acceptRevision', { params: { build_id: own.build_id as string }, body: { builder_run_id: of.builder_run_id } }],
    ];
    for (const [id, input] of refused) {
      const answer = await b.call(id, input);
      expect([404, 409], `${id} ${answer.text}`).toContain(answer.status);
      expect(answer.text).not.toContain('secret');
    }
    for (const query of [{ agent_id: of.agent_id as string }, { search: 'secret' }]) {
      const { data } = await b.ok('listRuns', { query });
      expect(data.map((run) => run.id)).not.toContain(of.run_id);
    }
    for (const query of [{ run_id: of.run_id as string }, { subscription_id: of.subscriptionId as string }])
      expect((await b.ok('listWebhookDeliveries', { query })).deliveries).toEqual([]);
  });

  it('has lists, usage and secrets of its own', async () => {
    const owner = await service();
    const a = await owner.withToken();
    const b = await owner.inNewTeam();
    const of = await withEverything(a);
    for (const id of operationIds) {
      if (operation(id).method !== 'GET' || administration.includes(id) || namesOf(id).some((name) => name !== 'teamId')) continue;
      const answer = await b.call(id);
      expect(answer.text).not.toContain('secret agent');
      for (const other of Object.values(of)) expect(answer.text, id).not.toContain(other);
    }
    expect((await b.ok('getTeamUsage')).agentRuns.used).toBe(0);
    expect((await b.call('getTeamWebhookSecret')).text).not.toBe((await a.call('getTeamWebhookSecret')).text);
    // Names are free, numbers begin anew, and the same idempotency key is another one.
    const headers = { 'idempotency-key': 'same' };
    const mine = await b.call('createAgent', { body: { name: 'secret agent' }, headers });
    expect(mine.status).toBe(201);
    expect((await a.call('createAgent', { body: { name: 'secret agent' }, headers })).status).toBe(409);
    expect((await b.call('getAgent', { params: { agent_id: randomUUID() } })).status).toBe(404);
  });
});
