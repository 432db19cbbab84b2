/** Which runs a command watches: those that are named, or those that match filters. */

import { UsageError } from '../../../base/errors.ts';
import { omitUndefined } from '../../../base/omit-undefined.ts';
import { readBeforeWatching } from '../../../cli/following/outage.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { choice, flag, text, toggle } from '../../../cli/kit/flags.ts';
import { agentId, queueId } from '../../../cli/names/resolve.ts';
import { type ResolvedRun, resolveRuns } from '../../../cli/names/resolve-run.ts';
import { runStatusFilters } from '../../../interface/run-status.ts';
import type { RunFilter } from '../../../watch/many/run-lister.ts';
import type { RunSelection } from '../../../watch/many/watch-runs.ts';

export const selectionFlags = {
  agent: text('ID|NAME', 'Watch the runs of this agent', { complete: 'agents' }),
  queue: text('QUEUE', 'Watch the runs for cases of this queue, by ID or name', { complete: 'queues' }),
  status: choice(runStatusFilters, 'Watch the runs with this status; needs_attention means waiting or failed', { metavar: 'STATUS' }),
  all: flag('Watch all runs of the team that have not ended'),
  new: toggle('Whether runs that match later are watched too (default: yes with these filters)'),
} as const;

/** Options that select runs, so that none needs to be named. */
export const selectingOptions = ['agent', 'queue', 'status', 'all'] as const;

interface SelectionInput {
  run: string[];
  agent?: string | undefined;
  queue?: string | undefined;
  status?: RunFilter['status'] | undefined;
  all: boolean;
  new?: boolean | undefined;
}

/**
 * The selected runs. A single run is returned as such.
 * @throws UsageError for flags that contradict each other, and what resolving the names throws
 */
export async function selectRuns(context: Context, input: SelectionInput): Promise<ResolvedRun | RunSelection> {
  const hasFilter = input.agent !== undefined || input.queue !== undefined || input.status !== undefined;
  if (input.run.length > 0) {
    const used = [...(input.all ? ['--all'] : []), ...(hasFilter ? ['filters'] : []), ...(input.new === undefined ? [] : ['--new'])];
    if (used.length > 0)
      throw new UsageError(
        `Runs and ${used.join(' and ')} cannot be combined.`,
        'Name runs, or select them with --agent, --queue, --status, or --all.',
      );
    const runs = await readBeforeWatching(context, (reading) => resolveRuns(reading, input.run));
    return runs.length === 1 ? (runs[0] as ResolvedRun) : { kind: 'named', runs };
  }
  if (!hasFilter && !input.all)
    throw new UsageError('Specify the runs to watch.', 'Name them, or use --agent, --queue, --status, or --all.');
  if (hasFilter && input.all)
    throw new UsageError('--all cannot be combined with --agent, --queue, or --status.', 'A filter alone selects all matching runs.');
  const filter = await readBeforeWatching(context, async (reading) =>
    omitUndefined({
      agent_id: input.agent === undefined ? undefined : await agentId(reading, input.agent),
      case_queue_id: input.queue === undefined ? undefined : await queueId(reading, input.queue),
      status: input.status,
    }),
  );
  return { kind: 'filter', filter: filter as RunFilter, addsNew: input.new !== false };
}
