import { checkSecretName } from '../../../cli/input/secret.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';

export default defineCommand({
  summary: 'Delete a secret of an agent',
  description: 'Processes of the agent that are running keep it until they end.',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    name: argument('The name of the secret', { check: checkSecretName }),
  },
  operations: ['listAgents', 'deleteAgentSecret'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops agents secrets delete fixer ANTHROPIC_API_KEY --yes', text: 'Delete a secret without confirmation' }],
  result: returns('deleteAgentSecret', { name: 'string' }),
  output: textOutput<{ name: string }>(({ name }) => `Deleted the secret ${name}.`),
  async run(context, { agent, name }) {
    const client = await context.client();
    const id = await agentId(context, agent);
    await confirm(context, `Delete the secret ${name} of ${agent}?`);
    return { name, ...(await client.call('deleteAgentSecret', { params: { agent_id: id, secret_name: name } })) };
  },
});
