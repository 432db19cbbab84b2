/** Reports events of the HTTP client on stderr: waits, retries, and the trace of --debug. */
import { formatDuration } from '../../base/duration.ts';
import type { ClientEvent } from '../../client/client.ts';
import type { Context } from '../kit/context.ts';
import { traceLines } from './trace.ts';

export function reportClientEvent(context: Context): (event: ClientEvent) => void {
  const { terminal, clock, flags } = context;
  // A program that reads errors as JSON also expects these events as JSON.
  const forPrograms = context.format === 'json' || context.format === 'ndjson';
  const report = (event: Record<string, unknown>, text: string): void => terminal.note(forPrograms ? JSON.stringify(event) : text);
  let endCountdown: Promise<() => void> | undefined;
  return (event) => {
    // A wait behind a prompt delays nobody and ends before the prompt does; sending the answer reports its own waits.
    if (terminal.prompting && !forPrograms && !flags.debug && (event.type === 'retry' || event.type === 'rate_limit.waiting')) return;
    switch (event.type) {
      case 'rate_limit.waiting': {
        const endsAt = clock.now() + event.waitMilliseconds;
        if (forPrograms) {
          report({ event: event.type, wait_seconds: Math.ceil(event.waitMilliseconds / 1_000), until: new Date(endsAt).toISOString() }, '');
          return;
        }
        void endCountdown?.then((end) => end());
        endCountdown = import('../../terminal/progress.ts').then(({ startCountdown }) =>
          startCountdown(terminal, 'Rate limited: waiting', endsAt, clock),
        );
        return;
      }
      case 'rate_limit.resumed':
        void endCountdown?.then((end) => end());
        endCountdown = undefined;
        return;
      case 'replayed': {
        const key = flags.idempotencyKey;
        const message = `The key ${key} was used before, so nothing was changed now. This is the earlier response to ${event.method} ${event.path}.`;
        report({ event: 'replayed', idempotency_key: key, method: event.method, path: event.path, message }, message);
        return;
      }
      case 'retry':
        // A quick retry is not worth reporting; a noticeable wait is, to people.
        if (flags.debug || (event.waitMilliseconds > 1_000 && !forPrograms)) {
          report(
            { event: 'retry', wait_seconds: event.waitMilliseconds / 1_000, reason: event.reason },
            `Trying again in ${formatDuration(event.waitMilliseconds)}: ${event.reason}.`,
          );
        }
        return;
      case 'trace':
        if (flags.debug) for (const line of traceLines(event)) terminal.warn(line);
    }
  };
}
