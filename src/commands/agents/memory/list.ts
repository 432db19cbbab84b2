import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput, sizeColumn, timeColumn } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { MemoryFile } from '../../../interface/types.ts';

export default defineCommand({
  summary: 'List the memory files of an agent',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  operations: ['listAgents', 'listAgentMemoryFiles'],
  examples: [{ command: 'aops agents memory list invoice-check', text: 'List the memory files of an agent' }],
  result: returns('listAgentMemoryFiles.files[]'),
  output: listOutput<MemoryFile>({
    columns: [
      column('PATH', (file) => file.path, { shrink: true }),
      sizeColumn('SIZE', (file) => file.size),
      column('CHANGES', (file) => file.generation, { align: 'right' }),
      column('RUN', (file) => file.source_agent_run_id),
      timeColumn('UPDATED', (file) => file.updated_at),
    ],
    empty: 'The agent has no memory files. Runs write them with `remember` steps.',
  }),
  async run(context, input) {
    const client = await context.client();
    const params = { agent_id: await agentId(context, input.agent) };
    return wholeList((await client.call('listAgentMemoryFiles', { params })).files);
  },
});
