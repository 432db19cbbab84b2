import { it } from 'vitest';
import { scriptRuntime } from '../../../src/service/runtimes/script/script-runtime.ts';
import { receiver } from '../helpers/webhooks.ts';
import { Recording, steps } from './recording.ts';

it('queues, cases, labels, and the agents that take cases', async () => {
  const recording = await Recording.start({ runtimes: [scriptRuntime] });
  const { call } = recording;
  const hook = await receiver();
  recording.nameServer(hook.url, 'receiver');
  const { webhook } = await call('createTeamWebhook', {
    body: { url: hook.url, events: ['queue.case.created', 'queue.case.claimed', 'queue.case.completed'] },
  });
  const { queue } = await call('createQueue', { body: { name: 'Invoices', description: 'Of suppliers.' } });
  const queues = { queue_id: queue.id };
  await call('createQueue', { body: { name: 'invoices' } });
  await call('updateQueue', { params: queues, body: { name: 'Payables', description: null } });
  const { added_cases: added } = await call('createCases', {
    params: queues,
    body: {
      cases: [
        { title: 'Acme March', data: '{"amount": 3}', priority: 'high', labels: [{ key: 'vendor', value: 'acme' }, { value: 'new' }] },
        { title: 'Acme April', labels: [{ key: 'vendor', value: 'acme' }] },
        { title: 'Zeta', priority: 'medium', labels: [{ key: 'vendor', value: 'zeta' }] },
      ],
    },
  });
  const [march, april, zeta] = added.map(({ id }) => id) as [string, string, string];
  await call('createCases', { params: queues, body: { case: { title: 'Late', data: 'text' } } });
  recording.noteDeliveries(hook);
  await call('listCases', { params: queues });
  await call('listCases', { params: queues, query: { priority: 'high,medium', sort_by: 'updated_at', sort_order: 'asc' } });
  await call('searchCases', { params: queues, body: { search: 'acme', filters: { labels: { vendor: ['acme'] } }, limit: 1 } });

  // Labels.
  const { label } = await call('createQueueLabel', { params: queues, body: { key: 'team', value: 'north', color_hue: 200 } });
  await call('createQueueLabel', { params: queues, body: { key: 'team', value: 'north' } });
  await call('updateQueueLabel', { params: { ...queues, label_id: label.id }, body: { value: 'south' } });
  await call('assignCaseLabels', {
    params: { ...queues, case_id: zeta },
    body: { labels: [{ key: 'team', value: 'south' }, { value: 'odd' }] },
  });
  await call('unlinkCaseLabels', { params: { ...queues, case_id: zeta }, body: { label_ids: [label.id] } });
  await call('listCaseLabels', { params: { ...queues, case_id: zeta } });
  await call('listQueueLabels', { params: queues });
  await call('deleteQueueLabel', { params: { ...queues, label_id: label.id } });

  // Changes by people.
  await call('bulkUpdateCasePriority', { params: queues, body: { case_ids: [april, zeta], priority: 'high' } });
  await call('bulkUpdateCaseStatus', { params: queues, body: { all_matching: true, search: 'zeta', status: 'completed' } });
  await call('bulkUpdateCaseStatus', { params: queues, body: { case_ids: [zeta, march.replace(/^./, 'f')], status: 'failed' } });
  await call('bulkRetryCases', { params: queues, body: { case_ids: [zeta] } });
  await call('getCase', { params: { case_id: zeta } });

  // Agents that take them.
  const create = async (name: string, ...lines: string[]): Promise<string> =>
    (await call('createAgent', { body: { name, build: { name: 'first', config: steps(...lines) } } })).agent.id;
  const booking = await create(
    'Booking',
    'if: case.priority == "high"\n    complete_case: "Booked {{ case.data.amount }} EUR."',
    'if: case.title == "Late"\n    postpone_case: { for: 2h, reason: Not yet. }',
    'say: "{{ case.title }} of {{ case.queue }}"',
    'approve: { id: go, title: "Book {{ case.title }}?" }',
  );
  await call('previewAgentCaseTriggerConflicts', { params: { agent_id: booking }, query: { case_queue_id: queue.id } });
  const { case_trigger } = await call('createAgentCaseTrigger', {
    params: { agent_id: booking },
    body: { case_queue_id: queue.id, enabled: false, concurrency: 1 },
  });
  const triggers = { agent_id: booking, trigger_id: case_trigger.id };
  await call('createAgentCaseTrigger', { params: { agent_id: booking }, body: { case_queue_id: queue.id, enabled: false } });
  await call('getAgentCaseTrigger', { params: triggers });
  await call('updateAgentCaseTrigger', { params: triggers, body: { enabled: true } });
  await call('listCases', { params: queues });
  recording.noteDeliveries(hook);
  await call('listAgentCaseTriggers', { params: { agent_id: booking } });
  await call('listQueueAgents', { params: queues });
  await call('getQueue', { params: queues });
  await call('listRuns', { query: { case_queue_id: queue.id, sort_order: 'asc' } });
  await call('listRuns', { query: { status: 'needs_attention' } });
  for (let approved = true; ; approved = false) {
    const { data } = await call('listRuns', { query: { status: 'waiting', limit: 1 } });
    const [waiting] = data;
    if (waiting === undefined) break;
    const { pending_human_request: request } = await call('getRun', { params: { run_id: waiting.id } });
    await call('respondToHumanRequest', { params: { run_id: waiting.id, request_id: request?.id as string }, body: { approved } });
  }
  await recording.pass(2 * 60 * 60_000);
  for (const case_id of [march, april, zeta]) {
    await call('getCase', { params: { case_id } });
    const { runs } = await call('listCaseRuns', { params: { case_id } });
    for (const { id } of runs) await call('listCaseRunRecentMessages', { params: { case_id, run_id: id }, query: { limit: 2 } });
  }

  // Given to another agent, reprocessed, and removed.
  const other = await create('Other', 'say: Mine.', 'fail_case: "Not mine: {{ case.title }}"');
  await call('bulkDelegateCases', { params: queues, body: { case_ids: [zeta], agent_id: other } });
  await call('bulkReprocessCases', { params: queues, body: { all_matching: true, filters: { status: ['completed'] }, agent_id: other } });
  await call('updateAgentCaseTrigger', { params: triggers, body: { enabled: false, concurrency: null } });
  await call('listCases', { params: queues, query: { status: 'failed', sort_order: 'asc' } });
  await call('getCase', { params: { case_id: march } });
  recording.noteDeliveries(hook);
  await call('listWebhookDeliveries', { query: { subscription_id: webhook.id, limit: 2 } });
  await call('deleteCase', { params: { case_id: april } });
  await call('bulkDeleteCases', { params: queues, body: { case_ids: [march] } });
  await call('getCase', { params: { case_id: march } });
  await call('clearQueueCases', { params: queues });
  await call('deleteAgentCaseTrigger', { params: triggers });
  await call('listQueues');
  await call('deleteQueue', { params: queues });
  await call('getQueue', { params: queues });
  await recording.expectToBe('cases');
});
