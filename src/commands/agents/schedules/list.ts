import { openTeamPage, pageView, webFlag } from '../../../cli/desktop/team-page.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { wholeList } from '../../../cli/kit/list.ts';
import { listOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Schedule } from '../../../interface/types.ts';
import { scheduleColumns, schedulesOf } from './record.ts';

export default defineCommand({
  summary: 'List the schedules of an agent',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: webFlag,
  operations: ['listAgents', 'listAgentSchedules', 'createPageCode'],
  examples: [
    { command: 'aops agents schedules list invoice-check', text: 'List the schedules of an agent' },
    {
      command: "aops agents schedules list invoice-check --jq '.data[] | select(.auto_disabled_at) | .id'",
      text: 'Print the IDs of schedules that were disabled automatically',
    },
  ],
  result: returns('listAgentSchedules.schedules[]'),
  output: listOutput<Schedule>({
    columns: scheduleColumns,
    empty: 'There are no schedules. Create one with `aops agents schedules create AGENT --frequency daily`.',
  }),
  async run(context, input) {
    const agent = await agentId(context, input.agent);
    return input.web ? openTeamPage(context, pageView('/schedules', { agent })) : wholeList(await schedulesOf(context, agent));
  },
});
