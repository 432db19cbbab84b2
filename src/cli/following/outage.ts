/**
 * Outages of the service while something is watched, or before watching begins. Each is reported once when it starts, and once when it
 * is over.
 */
import type { Buffer } from 'node:buffer';
import { formatDuration } from '../../base/duration.ts';
import type { Client } from '../../client/client.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { maxOutageMilliseconds, type OutageReport } from '../../watch/outage-tracker.ts';
import { type Call, retryThroughOutages } from '../../watch/polling.ts';
import type { Context } from '../kit/context.ts';

/** The local time of day: `14:03:27`. */
export const clockTime = (milliseconds: number): string => new Date(milliseconds).toTimeString().slice(0, 8);

/**
 * Reports outages on stderr, as JSON for programs that read JSON.
 * @param profile its name, if several profiles are watched: the report contains it, and the profile is read however long its outage lasts
 */
export function outageNotes({ terminal, clock, format }: Pick<Context, 'terminal' | 'clock' | 'format'>, profile?: string): OutageReport {
  const isForPrograms = format === 'json' || format === 'ndjson';
  const [from, prefix] = profile === undefined ? [{}, ''] : [{ profile }, `Profile "${profile}": `];
  const retrying = profile === undefined ? `Retrying for up to ${formatDuration(maxOutageMilliseconds)}.` : 'Retrying.';
  const report = (event: Record<string, unknown>, text: string): void =>
    terminal.note(isForPrograms ? JSON.stringify({ ...event, ...from }) : `${prefix}${text}`);
  let startedAt = 0;
  return (outage) => {
    if (outage === undefined) {
      const milliseconds = clock.now() - startedAt;
      report(
        { event: 'service.reachable', after_seconds: Math.round(milliseconds / 1_000) },
        `The service is reachable again after ${formatDuration(milliseconds)}.`,
      );
      return false;
    }
    startedAt = outage.since;
    const { since, reason } = outage;
    report(
      { event: 'service.unreachable', since: new Date(since).toISOString(), reason },
      `${sanitizeLine(reason)}\nThe service has not answered since ${clockTime(since)}. ${retrying}`,
    );
    // A program that reads only the error needs the reason there too.
    return !isForPrograms && !terminal.quiet;
  };
}

/**
 * Reads what a command needs before it can watch, such as the run that a name stands for. It waits for a service that does not answer
 * for as long as watching does.
 * @param read may be called several times; it must only call operations that change nothing
 * @param profile its name, if several profiles are watched
 * @throws whatever `read` throws, and the signal's reason
 */
export async function readBeforeWatching<Value>(
  context: Context,
  read: (context: Context) => Promise<Value>,
  profile?: string,
): Promise<Value> {
  const { clock, signal } = context;
  const client = await context.client();
  const call: Call = (id, input) => client.call(id, input, { once: true });
  let input: Promise<Buffer> | undefined;
  const repeatable: Context = {
    ...context,
    client: async () => ({ call }) as Client,
    readStandardInput: () => {
      input ??= context.readStandardInput();
      return input;
    },
  };
  return retryThroughOutages(() => read(repeatable), { clock, signal, onOutage: outageNotes(context, profile) })();
}
