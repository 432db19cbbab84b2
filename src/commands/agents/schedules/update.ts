import { UsageError } from '../../../base/errors.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Schedule } from '../../../interface/types.ts';
import { scheduleOptions, settingsFromFlags, timesFromFlags } from './options.ts';
import { findSchedule, scheduleArgument, scheduleRecord } from './record.ts';

export default defineCommand({
  summary: 'Change, enable, or disable a schedule',
  description: 'A new frequency uses only the time and day from these flags. Enabling a schedule resets its failure count.',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    schedule: scheduleArgument,
  },
  options: scheduleOptions,
  operations: ['listAgents', 'listAgentSchedules', 'updateSchedule'],
  mutates: true,
  examples: [
    { command: 'aops agents schedules update invoice-check SCHEDULE --time 10:00', text: 'Change the time' },
    { command: 'aops agents schedules update invoice-check SCHEDULE --no-enabled', text: 'Disable a schedule' },
  ],
  result: returns('updateSchedule'),
  output: recordOutput<Schedule>(scheduleRecord),
  async run(context, input) {
    const body = { ...timesFromFlags(input), ...(await settingsFromFlags(context, input)) };
    if (Object.keys(body).length === 0)
      throw new UsageError(
        'There is nothing to change.',
        'Pass --time, --frequency, --task, --no-enabled, or another flag; see `aops agents schedules update --help`.',
      );
    const client = await context.client();
    const agent = await agentId(context, input.agent);
    const params = { agent_id: agent, schedule_id: input.schedule ?? (await findSchedule(context, agent, undefined)).id };
    return client.call('updateSchedule', { params, body });
  },
});
