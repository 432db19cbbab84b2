import type { MemoryFileContent } from '../../../interface/types.ts';
import { argument, defineCommand } from '../../define.ts';
import { textOutput } from '../../output.ts';
import { agentId } from '../../resolve.ts';
import { returns } from '../../result.ts';

export default defineCommand({
  summary: 'Print a memory file of an agent',
  arguments: {
    agent: argument('The agent, by id or name', { complete: 'agents' }),
    path: argument('The file, as the list shows it', { complete: 'memory' }),
  },
  operations: ['listAgents', 'getAgentMemoryFile'],
  examples: [
    { command: 'aops agents memory get invoice-check suppliers/acme.md', text: 'Read it' },
    { command: 'aops agents memory get invoice-check notes.md --json --jq .source_agent_run_id', text: 'Which run wrote it' },
  ],
  result: returns('getAgentMemoryFile'),
  output: textOutput<MemoryFileContent>(({ content }) => content.replace(/\n$/, '')),
  async run(context, input) {
    const client = await context.client();
    return client.call('getAgentMemoryFile', { params: { agent_id: await agentId(context, input.agent), path: input.path } });
  },
});
