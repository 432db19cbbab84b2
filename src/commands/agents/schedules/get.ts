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
  operations: ['listAgents', 'listAgentSchedules'],
  examples: [{ command: 'aops agents schedules get invoice-check', text: 'Show the only schedule of an agent' }],
  result: returns('createSchedule'),
  output: recordOutput<Schedule>(scheduleRecord),
  run: async (context, input) => findSchedule(context, await agentId(context, input.agent), input.schedule),
});
