import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import { findRubric, revisionOption, revisionQuery } from './record.ts';

export default defineCommand({
  summary: 'Delete a rubric',
  description: 'Evaluations of finished runs remain.',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    rubric: argument('The rubric, by ID or by its name in the list', { complete: 'rubrics' }),
  },
  options: { revision: revisionOption },
  operations: ['listAgents', 'listAgentRevisions', 'getEvalRubrics', 'deleteEvalRubric'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops agents rubrics delete invoice-check says-paid --yes', text: 'Delete a rubric without confirmation' }],
  result: returns('deleteEvalRubric', { id: 'uuid', title: 'string' }),
  output: textOutput<{ id: string; title: string }>(({ title }) => `Deleted the rubric "${title}".`),
  async run(context, input) {
    const client = await context.client();
    const agent = await agentId(context, input.agent);
    const { id, title } = await findRubric(context, agent, input.rubric, await revisionQuery(context, agent, input.revision));
    await confirm(context, `Delete the rubric "${title}"?`);
    return { id, title, ...(await client.call('deleteEvalRubric', { params: { agentId: agent, rubricId: id } })) };
  },
});
