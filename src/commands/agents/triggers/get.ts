import { defineCommand } from '../../../cli/kit/command.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentArgument, triggerArgument, triggerParams, triggerRecord } from './record.ts';

export default defineCommand({
  summary: 'Show a case trigger of an agent',
  arguments: { agent: agentArgument, trigger: triggerArgument },
  operations: ['listAgents', 'listAgentCaseTriggers', 'getAgentCaseTrigger'],
  examples: [{ command: 'aops agents triggers get invoice-check', text: 'Show the case trigger of an agent' }],
  result: returns('getAgentCaseTrigger.case_trigger'),
  output: recordOutput(triggerRecord),
  async run(context, input) {
    const client = await context.client();
    const params = await triggerParams(context, input.agent, input.trigger);
    return (await client.call('getAgentCaseTrigger', { params })).case_trigger;
  },
});
