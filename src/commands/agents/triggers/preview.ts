import { defineCommand } from '../../../cli/kit/command.ts';
import { requiredText } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId, queueId } from '../../../cli/names/resolve.ts';
import type { Response } from '../../../interface/types.ts';
import { agentArgument, conflictNames } from './record.ts';

export default defineCommand({
  summary: 'Tell which other agents work on a queue already',
  description: 'Several may: each case goes to one of them. Mostly one agent for each queue is what is meant.',
  arguments: { agent: agentArgument },
  options: { queue: requiredText('QUEUE', 'The queue, by id or name', { complete: 'queues' }) },
  operations: ['listAgents', 'listQueues', 'previewAgentCaseTriggerConflicts'],
  examples: [{ command: 'aops agents triggers preview invoice-check --queue invoices', text: 'Before it is created' }],
  result: returns('previewAgentCaseTriggerConflicts'),
  output: textOutput<Response<'previewAgentCaseTriggerConflicts'>>(({ conflicting_agents: agents }) =>
    agents.length === 0 ? 'No other agent works on this queue.' : `These agents work on this queue already: ${conflictNames(agents)}.`,
  ),
  async run(context, input) {
    const client = await context.client();
    const params = { agent_id: await agentId(context, input.agent) };
    const query = { case_queue_id: await queueId(context, input.queue) };
    return client.call('previewAgentCaseTriggerConflicts', { params, query });
  },
});
