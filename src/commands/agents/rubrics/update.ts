import { UsageError } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { readContent } from '../../../cli/input/body.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument, text } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Rubric } from '../../../interface/types.ts';
import { descriptionCheck, findRubric, revisionOption, revisionQuery, rubricRecord, titleCheck } from './record.ts';

export default defineCommand({
  summary: 'Change a rubric',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    rubric: argument('The rubric, by ID or by its name in the list', { complete: 'rubrics' }),
  },
  options: {
    title: text('TEXT', 'New title, 3 to 80 characters', titleCheck),
    description: text('TEXT|@FILE|-', 'What the rubric requires, 20 to 400 characters', { complete: 'files' }),
    revision: revisionOption,
  },
  operations: ['listAgents', 'listAgentRevisions', 'getEvalRubrics', 'updateEvalRubric'],
  mutates: true,
  examples: [
    {
      command: 'aops agents rubrics update invoice-check says-paid --description \'Low: some message contains "paid".\'',
      text: 'Relax a rubric',
    },
  ],
  result: returns('updateEvalRubric.rubric'),
  output: recordOutput<Rubric>(rubricRecord),
  async run(context, input) {
    const description =
      input.description === undefined ? undefined : await readContent(context, input.description, descriptionCheck, '--description');
    const body = omitUndefined({ title: input.title, description });
    if (Object.keys(body).length === 0) throw new UsageError('There is nothing to change.', 'Pass --title or --description.');
    const client = await context.client();
    const agent = await agentId(context, input.agent);
    const { id } = await findRubric(context, agent, input.rubric, await revisionQuery(context, agent, input.revision));
    return (await client.call('updateEvalRubric', { params: { agentId: agent, rubricId: id }, body })).rubric;
  },
});
