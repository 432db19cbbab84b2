import { timesInWords } from '../../../base/schedule-fields.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { confirm } from '../../../cli/kit/confirm.ts';
import { argument } from '../../../cli/kit/flags.ts';
import { textOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import { agentId } from '../../../cli/names/resolve.ts';
import { findSchedule, scheduleArgument } from './record.ts';

export default defineCommand({
  summary: 'Delete a schedule',
  description: 'Runs that it started continue.',
  arguments: {
    agent: argument('The agent, by ID or name', { complete: 'agents' }),
    schedule: scheduleArgument,
  },
  operations: ['listAgents', 'listAgentSchedules', 'deleteSchedule'],
  mutates: true,
  destructive: true,
  examples: [{ command: 'aops agents schedules delete invoice-check SCHEDULE --yes', text: 'Delete a schedule without confirmation' }],
  result: returns('deleteSchedule', { id: 'string', when: 'string' }),
  output: textOutput<{ id: string; when: string }>(({ when }) => `Deleted the schedule (${when}).`),
  async run(context, input) {
    const client = await context.client();
    const agent = await agentId(context, input.agent);
    const schedule = await findSchedule(context, agent, input.schedule);
    const when = timesInWords(schedule);
    await confirm(context, `Delete the schedule (${when})?`);
    return { id: schedule.id, when, ...(await client.call('deleteSchedule', { params: { agent_id: agent, schedule_id: schedule.id } })) };
  },
});
