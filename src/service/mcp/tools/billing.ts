/** Tools for the usage of a team. */
import { Closed } from '../../../interface/schemas/common.ts';
import { defineTool } from '../tool.ts';

export const billingTools = [
  defineTool({
    name: 'get_usage',
    title: 'Get usage',
    description: 'Returns how much of its plan the team has used in this period, such as runs, and how much remains.',
    operation: 'getTeamUsage',
    input: Closed({}),
    readOnly: true,
    async run({ call }) {
      const answer = await call('getTeamUsage', {});
      const { agentRuns, concurrency } = answer;
      return {
        structured: answer,
        text: `${agentRuns.used} runs used, ${agentRuns.remaining} remaining in this period; ${concurrency.used} running now, of at most ${concurrency.limit}.`,
      };
    },
  }),
];
