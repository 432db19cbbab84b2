import { shellWord } from '../../base/shell.ts';
import { openTeamPage, webFlag } from '../../cli/desktop/team-page.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import { nextStep, recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { ifOffered } from '../../cli/kit/secondary-requests.ts';
import { queueId } from '../../cli/names/resolve.ts';
import {
  caseCounts,
  countShape,
  type DisplayCounts,
  describeCounts,
  fromDisplayCounts,
  toDisplayCounts,
} from '../../cli/records/case-counts.ts';
import { queueArgument, queueRecord } from '../../cli/records/queue.ts';
import type { Queue, Response } from '../../interface/types.ts';

type Agents = Pick<Response<'listQueueAgents'>, 'producers' | 'consumers'>;
type QueueDetails = Queue & { case_counts: DisplayCounts } & Partial<Agents>;

const agentShape = { agent_id: 'uuid', agent_name: 'string', case_trigger_enabled: 'boolean' } as const;

export default defineCommand({
  summary: 'Show a queue, its case counts, and its agents',
  arguments: { queue: queueArgument },
  options: webFlag,
  operations: ['listQueues', 'getQueue', 'searchCases', 'listQueueAgents', 'createPageCode'],
  examples: [
    { command: 'aops queues get invoices', text: 'Show a queue by name' },
    { command: 'aops queues get invoices --jq .case_counts.failed', text: 'Print the number of failed cases' },
  ],
  result: returns('getQueue.queue', {
    case_counts: countShape,
    producers: [agentShape],
    consumers: [{ ...agentShape, is_handover_target: 'boolean' }],
  }),
  output: recordOutput<QueueDetails>(({ case_counts: counts, producers, consumers, ...queue }, view) => ({
    ...queueRecord(queue),
    Cases: describeCounts(fromDisplayCounts(counts)),
    'Processed by': consumers && workers(consumers),
    'Filled by': producers?.map(({ agent_name }) => agent_name).join(', ') || undefined,
    Next: nextStep(nextCommand(queue, counts, consumers), view),
  })),
  async run(context, input): Promise<QueueDetails | undefined> {
    const client = await context.client();
    const params = { queue_id: await queueId(context, input.queue) };
    if (input.web) return openTeamPage(context, `/queues/${params.queue_id}`);
    const [{ queue }, counts, agents] = await Promise.all([
      client.call('getQueue', { params }),
      caseCounts(client, params.queue_id),
      ifOffered(client.call('listQueueAgents', { params })),
    ]);
    const queueAgents = agents === undefined ? {} : { producers: agents.producers, consumers: agents.consumers };
    return { ...queue, case_counts: toDisplayCounts(counts), ...queueAgents };
  },
});

const workers = (consumers: Agents['consumers']): string =>
  consumers
    .map(({ agent_name: name, case_trigger_enabled: on, is_handover_target: isHandoverTarget }) =>
      on || isHandoverTarget ? name : `${name} (off)`,
    )
    .join(', ') || 'no agent';

/** The command for the most urgent next step. */
function nextCommand(
  { id, name }: Pick<Queue, 'id' | 'name'>,
  counts: DisplayCounts,
  consumers: Agents['consumers'] | undefined,
): string | undefined {
  // The ID of a queue can be pasted, whatever its name is.
  const queue = /^\w[\w.-]*$/.test(name) ? name : shellWord(id);
  if (counts.needs_input > 0) return 'aops inbox';
  if (counts.failed > 0) return `aops cases list ${queue} --status failed`;
  if (counts.pending > 0 && consumers?.length === 0) return `aops agents triggers create AGENT --queue ${queue}`;
  return undefined;
}
