import { parseDuration } from '../../../base/duration.ts';
import { UsageError } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { length } from '../../../cli/kit/checks.ts';
import { defineCommand } from '../../../cli/kit/command.ts';
import { argument, text } from '../../../cli/kit/flags.ts';
import { recordOutput } from '../../../cli/kit/output.ts';
import { returns } from '../../../cli/kit/result.ts';
import type { LocalTeam } from '../../../interface/types.ts';
import { administered } from '../administration.ts';
import { databaseOptions } from '../database-flags.ts';
import { requireTeam, teamRecord } from '../teams.ts';

/** What the service accepts, in seconds. */
const minimumSeconds = 60;
const maximumSeconds = 2_592_000;

export default defineCommand({
  summary: 'Rename a team, or set when it is reminded of pending requests',
  description:
    'With --remind-after, a human request that has been pending for this long is reported again: as the event human_request.reminder to webhooks, and in `aops inbox --watch`. The pause before each further reminder is twice as long, up to a day. Reminders never answer anything.',
  arguments: { team: argument('The team, by ID or name') },
  options: {
    ...databaseOptions,
    name: text('NAME', 'New name', { check: length(1, 100) }),
    remindAfter: text('DURATION|off', 'How long a request waits before the first reminder, from 1m to 30d, or off', { check: pause }),
  },
  operations: ['listLocalTeams', 'updateLocalTeam'],
  mutates: true,
  examples: [
    { command: 'aops local team update finance --name accounting', text: 'Rename a team; its ID does not change' },
    { command: 'aops local team update finance --remind-after 2h', text: 'Remind of requests that have been waiting for two hours' },
  ],
  result: returns('updateLocalTeam.team'),
  output: recordOutput<LocalTeam>(teamRecord),
  run: (caller, input) =>
    administered(caller, input, async ({ context }) => {
      const { team, name, remindAfter } = input;
      if (name === undefined && remindAfter === undefined)
        throw new UsageError('There is nothing to change.', 'Pass --name or --remind-after.');
      const { id } = await requireTeam(context, team);
      const client = await context.client();
      const body = omitUndefined({ name, remind_after_seconds: remindAfter === undefined ? undefined : secondsOf(remindAfter) });
      return (await client.call('updateLocalTeam', { params: { team_id: id }, body })).team;
    }),
});

const secondsOf = (value: string): number | null => (value === 'off' ? null : Math.round((parseDuration(value) as number) / 1_000));

function pause(value: string, flag: string): string {
  if (value === 'off') return value;
  const milliseconds = parseDuration(value);
  if (milliseconds !== undefined && milliseconds >= minimumSeconds * 1_000 && milliseconds <= maximumSeconds * 1_000) return value;
  throw new UsageError(`${flag} must be a duration from 1m to 30d such as 30m or 2h, or off, not "${value}".`);
}
