import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { PlatformRubric } from '../../../interface/types.ts';

export default defineCommand({
  summary: 'List the rubrics that the service applies to every run',
  arguments: { agent: argument('An agent, by ID or name', { complete: 'agents' }) },
  operations: ['listAgents', 'getEvalRubrics'],
  examples: [{ command: 'aops agents rubrics platform invoice-check', text: 'List the rubrics of the service' }],
  result: returns('getEvalRubrics.platform_rubrics[]'),
  output: listOutput<PlatformRubric>({
    columns: [
      column('KEY', (rubric) => rubric.key),
      column('CAUSE', (rubric) => rubric.cause),
      column('DESCRIPTION', (rubric) => rubric.description, { shrink: true, min: 20 }),
    ],
    empty: 'The service has no rubrics of its own.',
  }),
  async run(context, input) {
    const client = await context.client();
    const params = { agentId: await agentId(context, input.agent) };
    return wholeList((await client.call('getEvalRubrics', { params })).platform_rubrics);
  },
});
