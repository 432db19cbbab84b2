/** Tools for what a team uses. */
import { Closed } from '../../../interface/schemas/common.ts';
import { defineTool } from '../tool.ts';

export const billingTools = [
  defineTool({
    name: 'get_usage',
    title: 'Get usage',
    description: 'Returns what the team has used of its plan in this period, such as runs, and what is left.',
    operation: 'getTeamUsage',
    input: Closed({}),
    readOnly: true,
    async run({ call }) {
      const answer = await call('getTeamUsage', {});
      const { agentRuns, concurrency } = answer;
      return {
        structured: answer,
        text: `${agentRuns.used} runs used, ${agentRuns.remaining} remaining in this period; ${concurrency.used} at work now, of at most ${concurrency.limit}.`,
      };
    },
  }),
];
