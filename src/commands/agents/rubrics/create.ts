import { readContent } from '../../../cli/input/body.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument, requiredText } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Rubric } from '../../../interface/types.ts';
import { descriptionCheck, revisionOption, revisionQuery, rubricRecord, titleCheck } from './record.ts';

export default defineCommand({
  summary: 'Add a rubric to an agent',
  description:
    'A local service checks sentences such as those in docs/evaluations.md, and reports the ones it cannot check. Finished runs are not evaluated again.',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    title: argument('The title, 3 to 80 characters', titleCheck),
  },
  options: {
    description: requiredText('TEXT|@FILE|-', 'What the rubric requires, 20 to 400 characters', { complete: 'files' }),
    revision: revisionOption,
  },
  operations: ['listAgents', 'listAgentRevisions', 'createEvalRubric'],
  mutates: true,
  examples: [
    {
      command: `aops agents rubrics create invoice-check 'Says paid' --description 'Critical: the final message contains "paid".'`,
      text: 'Add a critical rubric',
    },
  ],
  result: returns('createEvalRubric.rubric'),
  output: recordOutput<Rubric>(rubricRecord),
  async run(context, input) {
    const client = await context.client();
    const description = await readContent(context, input.description, descriptionCheck, '--description');
    const agent = await agentId(context, input.agent);
    const body = { title: input.title, description, ...(await revisionQuery(context, agent, input.revision)) };
    return (await client.call('createEvalRubric', { params: { agentId: agent }, body })).rubric;
  },
});
