import { it } from 'vitest';
import { type Behaviour, testRuntime } from '../helpers/runtime.ts';
import { config } from '../helpers/service.ts';
import { receiver } from '../helpers/webhooks.ts';
import { Recording } from './recording.ts';

const minute = 60_000;
const behaviours: Record<string, Behaviour> = {
  ask: async (host) =>
    host.answer('ask') ? { status: 'completed' } : { status: 'waiting', step: 'ask', request: { type: 'approval', title: 'Pay?' } },
  fail: async () => ({ status: 'failed', error: 'no luck' }),
};

it('webhooks, what they receive, and what happens if they receive nothing', async () => {
  const recording = await Recording.start({ runtimes: [testRuntime(behaviours)] });
  const { call } = recording;
  const [standard, chat, broken] = [await receiver(), await receiver(), await receiver()];
  recording.nameServer(standard.url, 'standard');
  recording.nameServer(chat.url, 'chat');
  recording.nameServer(broken.url, 'broken');
  const subscribe = async (body: object): Promise<string> => (await call('createTeamWebhook', { body })).webhook.id;
  const first = await subscribe({ url: standard.url, description: 'All', events: ['run.failed', 'run.completed', '*'] });
  await subscribe({ url: chat.url, format: 'slack', events: ['human_request.created', 'human_request.reminder', 'run.failed'] });
  await subscribe({
    url: `${chat.url}/teams`,
    format: 'teams',
    events: ['human_request.created', 'run.failed'],
    expires_in_seconds: 7_200,
  });
  const third = await subscribe({ url: broken.url, events: ['run.failed'] });
  await call('createTeamWebhook', { body: { url: 'ftp://host/' } });
  await call('updateTeamWebhook', { params: { subscriptionId: first }, body: { description: 'Everything' } });
  await call('listTeamWebhooks');
  await call('getTeamWebhookSecret');
  await call('rotateTeamWebhookSecret', { body: { overlap_seconds: 60 } });

  // A request and its reminder.
  await call('updateLocalTeam', { params: { team_id: recording.api.service.teamId }, body: { remind_after_seconds: 600 } });
  const { agent } = await call('createAgent', { body: { name: 'Asks', build: { name: 'first', config: config('ask') } } });
  const { run } = await call('startRun', { body: { agent_id: agent.id, message: 'Pay & go' } });
  await recording.pass(11 * minute);
  const { pending_human_request: request } = await call('getRun', { params: { run_id: run.id } });
  await call('respondToHumanRequest', {
    params: { run_id: run.id, request_id: request?.id as string },
    body: { approved: true, reason: 'Fine' },
  });
  recording.noteDeliveries(standard);
  recording.noteDeliveries(chat);

  // A receiver that fails for a while.
  broken.answer = (response) => response.writeHead(503, { 'content-type': 'text/plain' }).end('down');
  const { agent: failing } = await call('createAgent', { body: { name: 'Fails', build: { name: 'first', config: config('fail') } } });
  await call('startRun', { body: { agent_id: failing.id } });
  const query = { subscription_id: third };
  const { deliveries } = await call('listWebhookDeliveries', { query });
  const [delivery] = deliveries;
  const params = { deliveryId: delivery?.id as string };
  await recording.pass(minute);
  await recording.pass(60 * minute);
  await call('getWebhookDelivery', { params });
  broken.answer = (response) => response.writeHead(204).end();
  await call('resendWebhookDelivery', { params });
  await call('getWebhookDelivery', { params });
  await call('listWebhookDeliveries', { query: { status: 'delivered', event: 'run.failed' } });
  broken.answer = (response) => response.writeHead(410).end();
  await call('startRun', { body: { agent_id: failing.id } });
  await call('listWebhookDeliveries', { query });
  await call('createTestWebhookEvent', { body: { type: 'run.completed', subscription_id: first, data: { note: 'mine' } } });
  await call('createTestWebhookEvent', { body: { type: 'human_request.created' } });
  for (const hook of [standard, chat, broken]) recording.noteDeliveries(hook);
  await recording.pass(120 * minute);
  await call('listTeamWebhooks');
  await call('deleteTeamWebhook', { params: { subscriptionId: first } });
  await call('resendWebhookDelivery', { params });
  await call('listWebhookDeliveries', { query: { limit: 1 } });
  await recording.expectToBe('webhooks');
});
