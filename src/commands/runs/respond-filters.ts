/** Selects the runs whose pending requests get one answer, by filters instead of names. */
import { parseDuration } from '../../base/duration.ts';
import { pendingRequests } from '../../cli/following/pending-requests.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type CommandInput, choice, duration, text } from '../../cli/kit/flags.ts';
import { agentId, queueId } from '../../cli/names/resolve.ts';
import type { NamedRun } from '../../cli/names/run-names.ts';
import type { HumanRequest } from '../../interface/types.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';

export const respondFilters = {
  agent: text('ID|NAME', 'Instead of runs: answer all pending requests of this agent', { complete: 'agents' }),
  queue: text('QUEUE', 'Instead of runs: answer all pending requests for cases of this queue', { complete: 'queues' }),
  type: choice(['approval', 'question'], 'Instead of runs: answer all pending requests of this type'),
  olderThan: duration('Instead of runs: answer all requests that have been pending for at least this long'),
} as const;

type Filters = CommandInput<Record<never, never>, typeof respondFilters>;

const names = Object.keys(respondFilters) as (keyof Filters)[];
export const hasFilter = (input: Filters): boolean => names.some((name) => input[name] !== undefined);

/** The runs with matching requests, in the order in which they asked. @param type the kind that the answer fits, unless --type is passed */
export async function matchingRuns(context: Context, input: Filters, type: HumanRequest['type']): Promise<NamedRun[]> {
  const { agent, queue, olderThan } = input;
  const age = olderThan === undefined ? undefined : parseDuration(olderThan);
  const filter = {
    agentId: agent === undefined ? undefined : await agentId(context, agent),
    queueId: queue === undefined ? undefined : await queueId(context, queue),
    type: input.type ?? type,
    until: age === undefined ? undefined : context.clock.now() - age,
  };
  const requests = await pendingRequests(await context.client(), context.teamId(), filter, (runId, error) =>
    // The ID is valid, otherwise nothing would have been read.
    context.terminal.warn(`The request of run ${runId} cannot be read, so it is not answered: ${sanitizeLine(error.message)}`),
  );
  return requests.map(({ run_id: id, run_number }) => ({ id, run_number }));
}
