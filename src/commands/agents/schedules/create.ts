import { UsageError } from '../../../base/errors.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import type { Schedule } from '../../../interface/types.ts';
import { ownZone, scheduleOptions, settingsFromFlags, timesFromFlags } from './options.ts';
import { scheduleRecord } from './record.ts';

export default defineCommand({
  summary: 'Create a schedule that starts runs of an agent',
  description:
    'Runs use the revision that is live when they start. The default time zone is that of this machine. A time skipped by daylight saving time fires right after the gap; one that occurs twice fires once.',
  arguments: { agent: argument('The agent, by ID or name', { complete: 'agents' }) },
  options: scheduleOptions,
  operations: ['listAgents', 'createSchedule'],
  mutates: true,
  examples: [
    { command: 'aops agents schedules create invoice-check --frequency workday --time 08:30', text: 'Start a run every workday at 08:30' },
    {
      command: 'aops agents schedules create invoice-check --day-of-month 31 --timezone Europe/Berlin',
      text: 'Start a run on the last day of each month',
    },
    {
      command: "aops agents schedules create invoice-check --cron '0 */4 * * 1-5' --task 'Check what is new'",
      text: 'Start a run with a message on a cron schedule',
    },
  ],
  result: returns('createSchedule'),
  output: recordOutput<Schedule>(scheduleRecord),
  async run(context, input) {
    const { frequency, ...times } = timesFromFlags(input);
    if (frequency === undefined) throw new UsageError('The schedule needs a frequency.', 'Specify it with --frequency or --cron.');
    const settings = await settingsFromFlags(context, input);
    const client = await context.client();
    const params = { agent_id: await agentId(context, input.agent) };
    return client.call('createSchedule', { params, body: { enabled: true, frequency, timezone: ownZone(), ...times, ...settings } });
  },
});
