import { argument, defineCommand } from '../define.ts';
import { recordOutput } from '../output.ts';
import { agentId } from '../resolve.ts';
import { returns } from '../result.ts';
import { agentRecord } from './record.ts';

export default defineCommand({
  summary: 'Show an agent',
  arguments: { agent: argument('The agent, by id or name', { complete: 'agents' }) },
  operations: ['listAgents', 'getAgent'],
  examples: [{ command: 'aops agents get invoice-check', text: 'By name' }],
  result: returns('getAgent.agent'),
  output: recordOutput(agentRecord),
  async run(context, input) {
    const client = await context.client();
    return (await client.call('getAgent', { params: { agent_id: await agentId(context, input.agent) } })).agent;
  },
});
