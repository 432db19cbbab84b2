/**
 * Causes every kind of event in the contract by requests, and checks that its subscribers receive it: signed, and in the same form as
 * in reads. A new kind fails until it is caused here.
 */
import { randomUUID } from 'node:crypto';
import Type, { type TSchema } from 'typebox';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { Agent, Build } from '../../../src/interface/schemas/agents.ts';
import { Case } from '../../../src/interface/schemas/cases.ts';
import { Closed, DateTime, Nullable, Uuid } from '../../../src/interface/schemas/common.ts';
import { Connection } from '../../../src/interface/schemas/connections.ts';
import { Queue } from '../../../src/interface/schemas/queues.ts';
import { HumanRequest, Run, RunMessage, runSchemas } from '../../../src/interface/schemas/runs.ts';
import { Webhook } from '../../../src/interface/schemas/webhooks.ts';
import { allEvents, type WebhookEventKind, webhookEventKinds } from '../../../src/interface/webhook-events.ts';
import { sampleEventData } from '../../../src/interface/webhook-samples.ts';
import { McpServer } from '../../support/mcp-server.ts';
import { png } from '../../support/png.ts';
import { afterTest } from '../../support/temporary.ts';
import { verifyWithLibrary } from '../../support/webhook-receiver.ts';
import { type Behaviour, runOnce } from '../helpers/runtime.ts';
import { type Api, config, expectFits, startApi } from '../helpers/service.ts';
import { receiver } from '../helpers/webhooks.ts';

const ofRun = { run_id: Uuid, agent_id: Uuid };
const File = Type.Object({ file_id: Uuid, name: Type.String(), mime_type: Type.String(), size: Type.Integer(), created_at: DateTime });
const aboutRun = Closed({ run: Run });
const aboutCase = Closed({ case: Case, queue: Type.Pick(Queue, ['id', 'name']) });
const aboutConnection = Closed({ connection: Connection });

/** The expected data of each kind of event. */
const forms: Record<WebhookEventKind, TSchema> = {
  'run.started': aboutRun,
  'run.paused': aboutRun,
  'run.completed': aboutRun,
  'run.failed': aboutRun,
  'run.message.created': Closed({ ...ofRun, message: RunMessage }),
  'run.tool_call.completed': Closed({
    ...ofRun,
    tool_call: Nullable(Type.Index(RunMessage, ['tool_call'])),
    tool_result: Type.Index(RunMessage, ['tool_result']),
  }),
  'run.file.created': Closed({ ...ofRun, file: File }),
  'human_request.created': Closed({ ...ofRun, human_request: HumanRequest }),
  'human_request.reminder': Closed({ ...ofRun, human_request: HumanRequest }),
  // As it is returned to whoever answers.
  'human_request.responded': Closed({ ...ofRun, ...runSchemas.respondToHumanRequest.response.properties }),
  'queue.case.created': aboutCase,
  'queue.case.claimed': aboutCase,
  'queue.case.completed': aboutCase,
  'assignment.build.published': Closed({ agent: Type.Pick(Agent, ['id', 'name']), build: Type.Omit(Build, ['config']) }),
  'connection.updated': aboutConnection,
  'connection.action_required': aboutConnection,
  'webhook.disabled': Closed({ webhook: Webhook }),
};

/** Uses a tool, takes a picture, and asks for approval. */
const work: Behaviour = async (host) => {
  const image = { name: 'page.png', mimeType: 'image/png', bytes: png(1, 1, [1, 2, 3]) };
  if (!host.journal.has('shot'))
    await host.commit('shot', null, [
      { kind: 'tool_call', id: 'c', name: 'browser', arguments: { url: 'https://example.test/' } },
      { kind: 'tool_result', id: 'r', callId: 'c', result: { ok: true } },
      { kind: 'screenshot', id: 's', toolName: 'browser', startedAt: new Date(host.clock.now()), image },
    ]);
  if (host.answer('ask')) return { status: 'completed' };
  return { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Pay?' } };
};
const fail: Behaviour = async (host) => {
  await runOnce(host, 'step');
  return { status: 'failed', error: 'no luck' };
};

/** Causes events of every kind. */
async function causeAll(api: Api, advance: (milliseconds: number) => void): Promise<void> {
  const goneReceiver = await receiver();
  goneReceiver.answer = (response) => response.writeHead(410).end();
  await api.ok('createTeamWebhook', { body: { url: goneReceiver.url, events: ['run.failed'] } });

  const worker = await api.agent('work', 'Clerk');
  const draft = await api.ok('createRevision', { params: { agent_id: worker }, body: { name: 'two', config: config('work') } });
  await api.ok('promoteRevision', { params: { build_id: draft.build.id } });
  const { queue } = await api.ok('createQueue', { body: { name: 'invoices' } });
  const trigger = { case_queue_id: queue.id, enabled: true };
  await api.ok('createAgentCaseTrigger', { params: { agent_id: worker }, body: trigger });
  const { added_cases } = await api.ok('createCases', { params: { queue_id: queue.id }, body: { case: { title: 'March' } } });
  const case_id = added_cases[0]?.id as string;
  for (;;) {
    const { claimed_by_run_id: run_id } = (await api.ok('getCase', { params: { case_id } })).case;
    if (run_id === null) continue;
    const { pending_human_request: request } = await api.until(run_id, 'waiting');
    advance(60_000);
    await api.ok('updateLocalTeam', { params: { team_id: api.service.teamId }, body: { remind_after_seconds: 60 } });
    while ((await api.until(run_id, 'waiting')).pending_human_request?.reminders === undefined)
      await new Promise((resolve) => setImmediate(resolve));
    await api.ok('respondToHumanRequest', { params: { run_id, request_id: request?.id as string }, body: { approved: true } });
    await api.until(run_id, 'completed');
    break;
  }
  const failingRun = await api.run('fail');
  await api.until(failingRun.id, 'failed');

  const server = await McpServer.start();
  afterTest(() => server.close());
  server.require('x-api-key', () => 'another');
  const connection = await api.ok('createConnection', {
    body: {
      name: 'tickets',
      provider: 'user',
      auth_method: 'url',
      server_url: server.url,
      headers: { secret: { 'X-Api-Key': 'one' } },
    },
  });
  await api.ok('listConnectionTools', { params: { connection_id: connection.id } });
}

it('delivers an event of every kind to its subscribers, signed, with the data that a read would return', async () => {
  let lead = 0;
  const clock = { ...systemClock, now: () => Date.now() + lead };
  const api = await startApi({ clock, behaviours: { work, fail } });
  const hook = await receiver();
  for (const kind of [...webhookEventKinds, allEvents] as const)
    await api.ok('createTeamWebhook', { body: { url: `${hook.url}/${kind}`, events: [kind] } });
  const { secret } = await api.ok('getTeamWebhookSecret');
  await causeAll(api, (milliseconds) => {
    lead += milliseconds;
  });

  const toAll = () => hook.deliveries.filter(({ path }) => path.endsWith(`/${allEvents}`));
  const missingKinds = () => webhookEventKinds.filter((kind) => !toAll().some(({ json }) => json.type === kind));
  // If a kind never arrives, the message names it instead of reporting a timeout.
  for (const end = Date.now() + 30_000; missingKinds().length > 0 && Date.now() < end; )
    await new Promise((resolve) => setImmediate(resolve));
  expect(missingKinds(), 'kinds that nothing here causes, or that were not delivered').toEqual([]);
  const deliveriesToAll = toAll();
  await hook.count(2 * deliveriesToAll.length);

  for (const delivery of hook.deliveries) {
    const { type, id, team_id, data } = delivery.json;
    expect(verifyWithLibrary(secret, delivery)).toEqual(delivery.json);
    expect([team_id, delivery.headers['webhook-id']]).toEqual([api.service.teamId, id]);
    expectFits(forms[type as WebhookEventKind], data);
    // A subscriber to one kind gets that kind only, and the same event as a subscriber to all of them.
    const subscribedKind = delivery.path.split('/').at(-1);
    expect([type, allEvents]).toContain(subscribedKind);
    expect(deliveriesToAll.find(({ json }) => json.id === id)?.body).toEqual(delivery.body);
  }
});

it('has sample data for every kind of event in the same form', () => {
  const source = { teamId: randomUUID(), now: '2026-11-20T13:30:52.236Z', newId: randomUUID };
  for (const kind of webhookEventKinds) expectFits(forms[kind], sampleEventData(kind, source));
});
