import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { column, listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { PlatformRubric } from '../../../interface/types.ts';

export default defineCommand({
  summary: 'List what the service judges every run by',
  arguments: { agent: argument('An agent, by id or name', { complete: 'agents' }) },
  operations: ['listAgents', 'getEvalRubrics'],
  examples: [{ command: 'aops agents rubrics platform invoice-check', text: 'What is there beside its own rubrics' }],
  result: returns('getEvalRubrics.platform_rubrics[]'),
  output: listOutput<PlatformRubric>({
    columns: [
      column('KEY', (rubric) => rubric.key),
      column('CAUSE', (rubric) => rubric.cause),
      column('DESCRIPTION', (rubric) => rubric.description, { shrink: true, min: 20 }),
    ],
    empty: 'The service has none.',
  }),
  async run(context, input) {
    const client = await context.client();
    const params = { agentId: await agentId(context, input.agent) };
    return wholeList((await client.call('getEvalRubrics', { params })).platform_rubrics);
  },
});
