/** Checks the flags for what a command prints before it follows something. */
import { UsageError } from '../../base/errors.ts';
import { reshapesOutput } from '../kit/audience.ts';
import type { Context } from '../kit/context.ts';

/**
 * @param printsEvents whether the command prints a stream of events
 * @throws UsageError for flags that would have no effect on it
 */
export function requirePlainStream(context: Context, printsEvents: boolean): void {
  if (printsEvents && reshapesOutput(context))
    throw new UsageError(
      'Events are printed unchanged, so a stream of them cannot be combined with --fields, --jq, or --template.',
      'Use -o ndjson, and let jq read the stream: `| jq -c .type`.',
    );
}
