import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentArgument, triggerArgument, triggerParams } from './record.ts';

export default defineCommand({
  summary: 'Delete the case trigger of an agent',
  description: 'Runs that are working on cases continue. Pending cases remain in the queue.',
  arguments: { agent: agentArgument, trigger: triggerArgument },
  operations: ['listAgents', 'listAgentCaseTriggers', 'getAgentCaseTrigger', 'deleteAgentCaseTrigger'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops agents triggers delete invoice-check --yes', text: 'Delete a case trigger without confirmation' }],
  result: returns('deleteAgentCaseTrigger', { id: 'uuid', queue: 'string' }),
  output: textOutput<{ queue: string }>(({ queue }) => `Deleted the case trigger on ${queue}.`),
  async run(context, input) {
    const client = await context.client();
    const params = await triggerParams(context, input.agent, input.trigger);
    const { case_trigger } = await client.call('getAgentCaseTrigger', { params });
    await confirm(context, `Delete the case trigger of the agent "${input.agent}" on the queue "${case_trigger.case_queue_name}"?`);
    const answer = await client.call('deleteAgentCaseTrigger', { params });
    return { id: case_trigger.id, queue: case_trigger.case_queue_name, ...answer };
  },
});
