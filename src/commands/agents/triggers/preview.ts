import { defineCommand } from '../../../cli/kit/command.ts';
import { requiredText } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId, queueId } from '../../../cli/names/resolve.ts';
import type { Response } from '../../../interface/types.ts';
import { agentArgument, conflictNames } from './record.ts';

export default defineCommand({
  summary: 'Show which other agents process a queue',
  description: 'Several agents can process the same queue; each case goes to one of them. Usually, a queue has only one agent.',
  arguments: { agent: agentArgument },
  options: { queue: requiredText('QUEUE', 'The queue, by ID or name', { complete: 'queues' }) },
  operations: ['listAgents', 'listQueues', 'previewAgentCaseTriggerConflicts'],
  examples: [
    { command: 'aops agents triggers preview invoice-check --queue invoices', text: 'Check a queue before creating a case trigger' },
  ],
  result: returns('previewAgentCaseTriggerConflicts'),
  output: textOutput<Response<'previewAgentCaseTriggerConflicts'>>(({ conflicting_agents: agents }) =>
    agents.length === 0 ? 'No other agents process this queue.' : `These agents already process this queue: ${conflictNames(agents)}.`,
  ),
  async run(context, input) {
    const client = await context.client();
    const params = { agent_id: await agentId(context, input.agent) };
    const query = { case_queue_id: await queueId(context, input.queue) };
    return client.call('previewAgentCaseTriggerConflicts', { params, query });
  },
});
