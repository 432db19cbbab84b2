/** What people and programs are told of an outage while something is followed: once that it began, and once that it is over. */
import { formatDuration } from '../../base/duration.ts';
import { longestAbsence, type Outage } from '../../watch/absence.ts';
import type { Context } from '../kit/context.ts';

/** The time of day, as the clock on the wall has it. */
export const clockTime = (milliseconds: number): string => new Date(milliseconds).toTimeString().slice(0, 8);

/** Tells stderr of outages. Programs that read JSON get it as JSON. */
export function outageNotes({ terminal, clock, format }: Context): (outage: Outage | undefined) => void {
  const forPrograms = format === 'json' || format === 'ndjson';
  const tell = (event: Record<string, unknown>, text: string): void => terminal.note(forPrograms ? JSON.stringify(event) : text);
  let began = 0;
  return (outage) => {
    if (outage === undefined) {
      const milliseconds = clock.now() - began;
      tell(
        { event: 'service.reachable', after_seconds: Math.round(milliseconds / 1_000) },
        `The service answers again after ${formatDuration(milliseconds)}.`,
      );
      return;
    }
    began = outage.since;
    const { since, reason } = outage;
    tell(
      { event: 'service.unreachable', since: new Date(since).toISOString(), reason },
      `${reason}\nThere has been no answer since ${clockTime(since)}; trying again for up to ${formatDuration(longestAbsence)}.`,
    );
  };
}
