import { defineCommand } from '../../cli/kit/command.ts';
import { column, documentOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { queueArgument } from '../../cli/records/queue.ts';
import type { QueueConsumer, QueueProducer, Response } from '../../interface/types.ts';

const problems = (agent: QueueProducer | QueueConsumer): string =>
  agent.problems
    .map((word) => ({ multiple_triggers: 'several triggers', producer_consumer_mix: 'both adds and takes cases' })[word] ?? word)
    .join(', ');

/** An agent that adds or takes cases, as one row of a table. */
type Row = { role: string; agent: QueueProducer | QueueConsumer };

const columns = [
  column('ROLE', ({ role }: Row) => role),
  column('AGENT', ({ agent }: Row) => agent.agent_name, { shrink: true }),
  column('TRIGGER', ({ agent }: Row) => (agent.case_trigger_enabled ? 'active' : hasTrigger(agent) ? 'off' : undefined), {
    style: 'status',
  }),
  column('AT A TIME', ({ agent }: Row) => limitOf(agent), { align: 'right' }),
  column('PROBLEMS', ({ agent }: Row) => problems(agent), { shrink: true, style: 'warning' }),
];

/** A consumer that is handed cases has no trigger. */
const hasTrigger = (agent: QueueProducer | QueueConsumer): boolean =>
  'is_handover_target' in agent ? !agent.is_handover_target : agent.case_trigger_queue_name !== null;

function limitOf(agent: QueueProducer | QueueConsumer): string | undefined {
  if (!('concurrency_limit' in agent) || agent.concurrency_limit === undefined) return undefined;
  return agent.at_concurrency_limit ? `${agent.concurrency_limit} (reached)` : String(agent.concurrency_limit);
}

export default defineCommand({
  summary: 'Show which agents add or process the cases of a queue',
  arguments: { queue: queueArgument },
  operations: ['listQueues', 'listQueueAgents'],
  examples: [{ command: 'aops queues agents invoices', text: 'Show the agents of a queue and their problems' }],
  result: returns('listQueueAgents'),
  output: documentOutput<Response<'listQueueAgents'>>(async ({ producers, consumers }, view) => {
    const { renderTable } = await import('../../terminal/table.ts');
    const handoverText = (agent: QueueConsumer): string =>
      agent.is_handover_target && !agent.case_trigger_enabled ? 'handed cases' : 'takes cases';
    const rows = [
      ...producers.map((agent): Row => ({ role: 'adds cases', agent })),
      ...consumers.map((agent): Row => ({ role: handoverText(agent), agent })),
    ];
    return rows.length === 0 ? 'No agents add or process cases of this queue.\n' : renderTable(rows, columns, view);
  }),
  async run(context, input) {
    const client = await context.client();
    return client.call('listQueueAgents', { params: { queue_id: await queueId(context, input.queue) } });
  },
});
