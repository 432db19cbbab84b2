/** Tools for agents. */
import { Closed } from '../../../interface/schemas/common.ts';
import { defineTool } from '../tool.ts';
import { describeList } from '../words.ts';
import { page } from './arguments.ts';

export const agentTools = [
  defineTool({
    name: 'list_agents',
    title: 'List agents',
    description: 'Lists the agents of the team with their IDs. Use it to find the agent_id for start_run.',
    operation: 'listAgents',
    input: Closed(page(100)),
    readOnly: true,
    async run({ call }, query) {
      const answer = await call('listAgents', { query });
      const rows = answer.agents.map(({ id, name }) => `${name} (${id})`);
      return { structured: answer, text: describeList('agents', rows, answer.total) };
    },
  }),
];
