import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Rubric } from '../../../interface/types.ts';
import { revisionOption, revisionQuery, rubricColumns, rubricsOf } from './record.ts';

export default defineCommand({
  summary: 'List the rubrics of an agent',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: { revision: revisionOption },
  operations: ['listAgents', 'listAgentRevisions', 'getEvalRubrics'],
  examples: [
    { command: 'aops agents rubrics list invoice-check', text: 'List the rubrics and how much of each can be checked' },
    {
      command: "aops agents rubrics list invoice-check --jq '[.data[] | {title, description}]'",
      text: 'Print the rubrics in the format of `replace`',
    },
  ],
  result: returns('getEvalRubrics.rubrics[]'),
  output: listOutput<Rubric>({
    columns: rubricColumns,
    empty: 'There are no rubrics. Create one with `aops agents rubrics create AGENT TITLE --description TEXT`.',
  }),
  async run(context, input) {
    const agent = await agentId(context, input.agent);
    return wholeList(await rubricsOf(context, agent, await revisionQuery(context, agent, input.revision)));
  },
});
