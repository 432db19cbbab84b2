import { confirm } from '../confirm.ts';
import { argument, defineCommand } from '../define.ts';
import { textOutput } from '../output.ts';
import { agentId } from '../resolve.ts';
import { returns } from '../result.ts';

export default defineCommand({
  summary: 'Delete an agent and interrupt its runs',
  arguments: { agent: argument('The agent, by id or name', { complete: 'agents' }) },
  operations: ['listAgents', 'getAgent', 'deleteAgent'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops agents delete invoice-check --yes', text: 'In a script' }],
  result: returns('deleteAgent', { id: 'uuid', name: 'string' }),
  output: textOutput<{ id: string; name: string; success: boolean }>(({ name }) => `Deleted ${name}.`),
  async run(context, input) {
    const client = await context.client();
    const id = await agentId(context, input.agent);
    const { agent } = await client.call('getAgent', { params: { agent_id: id } });
    await confirm(context, `Delete the agent "${agent.name}" and interrupt its runs?`);
    return { id, name: agent.name, ...(await client.call('deleteAgent', { params: { agent_id: id } })) };
  },
});
