import { readAgentSecrets } from '../../../cli/input/secret.ts';
import { storeSecrets } from '../../../cli/input/store-secrets.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument, repeatedArgument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput, timeColumn } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { AgentSecret } from '../../../interface/types.ts';

export default defineCommand({
  summary: 'Store secrets of an agent',
  description:
    'The processes of an agent that speaks the Agent Client Protocol get a secret as an environment variable if the definition of the agent lists its name. Values are encrypted and cannot be read again. They never appear on the command line: NAME=@FILE reads a file, NAME=@- reads standard input, and NAME alone prompts for the value. The line feed at the end is removed.',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    secrets: repeatedArgument('NAME=@FILE or NAME=@-, with the name of an environment variable', { complete: 'files' }),
  },
  operations: ['listAgents', 'setAgentSecret'],
  mutates: true,
  examples: [
    { command: 'aops agents secrets set fixer ANTHROPIC_API_KEY=@key.txt', text: 'Store the content of a file' },
    { command: 'pass show anthropic | aops agents secrets set fixer ANTHROPIC_API_KEY=@-', text: 'Store the output of a password manager' },
  ],
  result: returns('setAgentSecret.secret'),
  output: listOutput<AgentSecret>({
    columns: [column('NAME', (secret) => secret.name, { shrink: true }), timeColumn('UPDATED', (secret) => secret.updated_at)],
    empty: 'No secrets were stored.',
  }),
  async run(context, input) {
    const id = await agentId(context, input.agent);
    return wholeList(await storeSecrets(context, id, await readAgentSecrets(context, input.secrets)));
  },
});
