/**
 * A team that has something of everything, and for every operation of the contract a request that would do: for tests that loop
 * over all of them, so that a new operation is tested, too.
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { type OperationId, operation, operationGroups, operationIds } from '../../../src/interface/operations.ts';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { tarOf } from '../../support/tar.ts';
import { ManualClock } from './clock.ts';
import { type Behaviour, testRuntime } from './runtime.ts';
import { type Answer, type Api, type CallInput, config, startApi, type TestOptions } from './service.ts';

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

/** A service that `withEverything` can fill. */
export const fillable = (options: TestOptions = {}): Promise<Api> =>
  startApi({
    clock: new ManualClock(),
    runtimes: [scriptRuntime, testRuntime(behaviours)],
    // A machine that is busy with other tests may take long between two requests.
    httpLimits: { keepAliveMilliseconds: 300_000 },
    ...options,
  });

/** What a team has, under the names that paths give it. */
export type OwnedIds = Record<string, string>;

/** Everything that a team can have, one of each. */
export async function withEverything(api: Api): Promise<OwnedIds> {
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
  const { secret } = await api.ok('setAgentSecret', {
    params: { agent_id: agent.id },
    body: { name: `KEY_${agent.id.replaceAll('-', '')}`, value: 'the secret of A' },
  });
  const schedule = await api.ok('createSchedule', {
    params: { agent_id: agent.id },
    body: { enabled: true, frequency: 'daily', timezone: 'UTC', task: 'the secret of A' },
  });
  const { artifact_id } = await api.ok('createArtifact', { body: { message: 'title "the secret of A"; runs' } });
  const isReady = async () => (await api.ok('listArtifactRevisions', { params: { artifactId: artifact_id } })).current_revision_id;
  let revisionId = await isReady();
  for (; revisionId === null; revisionId = await isReady()) await new Promise((resolve) => setImmediate(resolve));
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
  const signedSegments = new URL(data.toolExecutions[0]?.afterScreenshot?.signedUrl as string).pathname.split('/')[2] as string;
  const { fileId } = JSON.parse(Buffer.from(signedSegments.split('.')[0] as string, 'base64url').toString()) as { fileId: string };
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
    secret_name: secret.name,
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
const bodies = (ownedIds: OwnedIds): Partial<Record<OperationId, unknown>> => ({
  createTeamWebhook: { url: 'http://127.0.0.1:9/' },
  updateTeamWebhook: { description: 'mine' },
  createTestWebhookEvent: { type: 'run.failed' },
  createAgent: { name: 'mine' },
  updateAgent: { name: 'mine' },
  createRevision: { name: 'mine' },
  updateRevision: { revision_name: 'mine' },
  promoteRevision: {},
  uploadSandboxFile: form(),
  uploadSandboxArchive: tarOf({ x: 'mine' }),
  createSandboxUploadUrl: { path: 'x' },
  startRun: { agent_id: ownedIds.agent_id },
  postRunMessage: { message: 'mine' },
  respondToHumanRequest: { approved: true },
  setAgentSecret: { name: 'MINE', value: 'mine' },
  checkAgent: { agent_id: ownedIds.agent_id },
  createEvalRubric: { title: 'mine', description: 'The final message contains "mine".' },
  replaceEvalRubrics: { rubrics: [] },
  updateEvalRubric: { title: 'mine as well' },
  createSchedule: { enabled: true, frequency: 'daily', timezone: 'UTC' },
  updateSchedule: { task: 'mine' },
  generateRevision: { prompt: 'mine' },
  updateArtifact: { title: 'mine' },
  sendArtifactMessage: { message: 'mine' },
  publishArtifact: { visibility: 'team' },
  answerArtifactQuestion: { toolCallId: 'mine', answers: {} },
  attachArtifactConnection: { connection_id: ownedIds.connection_id },
  createQueue: { name: 'mine' },
  updateQueue: { description: 'mine' },
  createCases: { case: { title: 'mine' } },
  searchCases: { search: 'secret' },
  bulkDeleteCases: { case_ids: [ownedIds.case_id] },
  bulkReprocessCases: { case_ids: [ownedIds.case_id] },
  bulkUpdateCasePriority: { case_ids: [ownedIds.case_id], priority: 'high' },
  bulkUpdateCaseStatus: { case_ids: [ownedIds.case_id], status: 'completed' },
  createQueueLabel: { value: 'mine' },
  updateQueueLabel: { value: 'mine' },
  assignCaseLabels: { labels: [{ value: 'mine' }] },
  unlinkCaseLabels: { label_ids: [ownedIds.label_id] },
  createAgentCaseTrigger: { case_queue_id: ownedIds.queue_id, enabled: true },
  updateAgentCaseTrigger: { enabled: true },
  updateConnection: { name: 'mine' },
  createConnection: { name: 'mine', provider: 'user', auth_method: 'url', server_url: 'http://127.0.0.1:9/' },
  probeMcpServer: { server_url: 'http://127.0.0.1:9/', auth_method: 'url' },
  authorizeMcpOAuth: { mcp_server_url: 'http://127.0.0.1:9/', name: 'mine' },
  bulkDelegateCases: { case_ids: [ownedIds.case_id], agent_id: ownedIds.agent_id },
  bulkRetryCases: { case_ids: [ownedIds.case_id] },
  answerBuilderRun: { answers: { question: 'mine' } },
});

function form(): FormData {
  const form = new FormData();
  form.append('path', 'x');
  form.append('file', new File(['mine'], 'x'));
  return form;
}

const queries = (ownedIds: OwnedIds): Partial<Record<OperationId, Record<string, string>>> => ({
  getRunSandboxFileContent: { path: 'secret.txt' },
  getAgentRunSandboxFileContent: { path: 'secret.txt' },
  previewAgentCaseTriggerConflicts: { case_queue_id: ownedIds.queue_id as string },
});

export const namesOf = (id: OperationId): string[] => [...operation(id).path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);

/** A request for the operation, of what the team has. */
export function inputFor(id: OperationId, ownedIds: OwnedIds): CallInput {
  const unknownNames = namesOf(id).filter((name) => ownedIds[name] === undefined);
  expect(unknownNames, `say in withEverything() what the parameters of ${id} name`).toEqual([]);
  const [body, query] = [bodies(ownedIds)[id], queries(ownedIds)[id]];
  return {
    params: Object.fromEntries(namesOf(id).map((name) => [name, ownedIds[name] as string])),
    ...(query === undefined ? {} : { query }),
    ...(body === undefined ? {} : { body }),
  };
}

/** What belongs to no team: who may use the service. */
export async function filledTeam(api: Api): Promise<OwnedIds> {
  const ownedIds = await withEverything(api);
  const { team } = await api.ok('createLocalTeam', { body: { name: 'Spare' } });
  const { token } = await api.ok('createLocalToken', { body: { name: 'spare' } });
  const { client } = await api.ok('createLocalClient', { body: { name: 'spare' } });
  // A hold would end long before the requests that are about it.
  return { ...ownedIds, team_id: team.id, token_id: token.id, client_id: client.id, hold_id: randomUUID() };
}

const localBodies: Partial<Record<OperationId, unknown>> = {
  createLocalTeam: { name: 'Mine' },
  updateLocalTeam: { name: 'Mine too' },
  createLocalToken: { name: 'mine' },
  createLocalClient: { name: 'mine' },
  updateBackupHold: { holds: 'files' },
  checkMcpOAuth: { mcp_server_url: 'http://127.0.0.1:9/' },
  updateAgent: { name: 'another' },
  createArtifact: { message: 'title "mine"; runs' },
};

/** The same with what belongs to no team. */
export function requestFor(id: OperationId, ownedIds: OwnedIds): CallInput {
  const body = localBodies[id];
  return { ...inputFor(id, ownedIds), ...(body === undefined ? {} : { body }) };
}

/** The operation's path with its parameters filled in. */
export const pathOf = (id: OperationId, ownedIds: OwnedIds): string =>
  operation(id).path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ownedIds[name] as string));

/** What is answered in the form of JSON-RPC, as its protocol wants it (mcp.test.ts). */
const ownForm: readonly string[] = Object.keys(operationGroups.mcp);
/** Every operation that is answered as all others are. */
export const plainOperations = operationIds.filter((id) => !ownForm.includes(id));

export const json = { 'content-type': 'application/json' };
export const codeOf = (answer: Answer): [number, string | undefined] => [
  answer.status,
  (answer.body as { error?: string } | undefined)?.error,
];

/** Sends a body as it is to an operation. */
export const sendBody = (
  api: Api,
  id: OperationId,
  ownedIds: OwnedIds,
  body: string | Buffer,
  headers: Record<string, string> = json,
): Promise<Answer> => api.send(operation(id).method, pathOf(id, ownedIds), { headers, body });

/** An id that nobody has for each name in the operation's path. */
export const strangeIds = (id: OperationId): Record<string, string> => Object.fromEntries(namesOf(id).map((name) => [name, randomUUID()]));

/** Works on all of them, a few at a time. */
export async function forEachItem<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const remainingItems = items.values();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (const item of remainingItems) await work(item);
    }),
  );
}
