import { UsageError } from '../../../base/errors.ts';
import { openTeamPage, pageView, webFlag } from '../../../cli/desktop/team-page.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Schedule } from '../../../interface/types.ts';
import { findSchedule, scheduleArgument, scheduleRecord } from './record.ts';

export default defineCommand({
  summary: 'Show a schedule',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    schedule: scheduleArgument,
  },
  options: webFlag,
  operations: ['listAgents', 'listAgentSchedules', 'createPageCode'],
  examples: [{ command: 'aops agents schedules get invoice-check', text: 'Show the only schedule of an agent' }],
  result: returns('createSchedule'),
  output: recordOutput<Schedule>(scheduleRecord),
  async run(context, input) {
    if (input.web && input.schedule !== undefined)
      throw new UsageError(
        '--web shows all schedules of the agent, so it cannot be combined with the ID of one.',
        'Leave out the ID, or leave out --web to see the schedule here.',
      );
    const agent = await agentId(context, input.agent);
    return input.web ? openTeamPage(context, pageView('/schedules', { agent })) : findSchedule(context, agent, input.schedule);
  },
});
