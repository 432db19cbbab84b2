import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput, timeColumn } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { AgentSecret } from '../../../interface/types.ts';

export default defineCommand({
  summary: 'List the names of the secrets of an agent',
  description: 'The values cannot be read again.',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  operations: ['listAgents', 'listAgentSecrets'],
  examples: [{ command: 'aops agents secrets list fixer', text: 'List the secrets of an agent' }],
  result: returns('listAgentSecrets.secrets[]'),
  output: listOutput<AgentSecret>({
    columns: [column('NAME', (secret) => secret.name, { shrink: true }), timeColumn('UPDATED', (secret) => secret.updated_at)],
    empty: 'The agent has no secrets. Store one with `aops agents secrets set AGENT NAME=@FILE`.',
  }),
  async run(context, input) {
    const client = await context.client();
    const params = { agent_id: await agentId(context, input.agent) };
    return wholeList((await client.call('listAgentSecrets', { params })).secrets);
  },
});
