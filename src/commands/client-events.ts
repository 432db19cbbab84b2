/** What a person sees of the HTTP core: waits, retries, and the trace of --debug. Scripts see it as lines on stderr. */
import { formatDuration } from '../base/duration.ts';
import type { ClientEvent } from '../client/client.ts';
import type { Context } from './context.ts';

export function reportClientEvent(context: Context): (event: ClientEvent) => void {
  const { terminal, flags } = context;
  return (event) => {
    switch (event.type) {
      case 'rate_limit.waiting':
        terminal.note(`Rate limited: going on in ${formatDuration(event.waitMilliseconds)}.`);
        return;
      case 'replayed':
        terminal.note(`This key was used before; nothing was done now, and this is the result it had then (${event.key}).`);
        return;
      case 'retry':
        // A quick second try is nobody's business; a wait that can be felt is.
        if (flags.debug || event.waitMilliseconds > 1_000)
          terminal.note(`Trying again in ${formatDuration(event.waitMilliseconds)}: ${event.reason}.`);
        return;
      case 'trace':
        if (flags.debug)
          terminal.note(
            `${event.method} ${event.url} -> ${event.status ?? event.reason} (${event.milliseconds} ms${event.requestId ? `, ${event.requestId}` : ''})`,
          );
    }
  };
}
