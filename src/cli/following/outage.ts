/** Reports an outage of the service while something is watched: once when it starts, and once when it is over. */
import { formatDuration } from '../../base/duration.ts';
import { maxOutageMilliseconds, type Outage } from '../../watch/outage-tracker.ts';
import type { Context } from '../kit/context.ts';

/** The local time of day: `14:03:27`. */
export const clockTime = (milliseconds: number): string => new Date(milliseconds).toTimeString().slice(0, 8);

/** Reports outages on stderr, as JSON for programs that read JSON. */
export function outageNotes({ terminal, clock, format }: Context): (outage: Outage | undefined) => void {
  const forPrograms = format === 'json' || format === 'ndjson';
  const report = (event: Record<string, unknown>, text: string): void => terminal.note(forPrograms ? JSON.stringify(event) : text);
  let began = 0;
  return (outage) => {
    if (outage === undefined) {
      const milliseconds = clock.now() - began;
      report(
        { event: 'service.reachable', after_seconds: Math.round(milliseconds / 1_000) },
        `The service is reachable again after ${formatDuration(milliseconds)}.`,
      );
      return;
    }
    began = outage.since;
    const { since, reason } = outage;
    report(
      { event: 'service.unreachable', since: new Date(since).toISOString(), reason },
      `${reason}\nThe service has not answered since ${clockTime(since)}. Retrying for up to ${formatDuration(maxOutageMilliseconds)}.`,
    );
  };
}
