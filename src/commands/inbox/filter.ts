/** Which requests the inbox shows. */
import { parseDuration } from '../../base/duration.ts';
import type { PageFilters } from '../../cli/desktop/team-page.ts';
import type { RequestFilter } from '../../cli/following/pending-requests.ts';
import type { Context } from '../../cli/kit/context.ts';
import { choice, duration, text, texts } from '../../cli/kit/flags.ts';
import { agentId, queueId } from '../../cli/names/resolve.ts';
import { runId } from '../../cli/names/resolve-run.ts';
import type { HumanRequest } from '../../interface/types.ts';

export const filterFlags = {
  agent: text('ID|NAME', 'Only requests of this agent', { complete: 'agents' }),
  queue: text('ID|NAME', 'Only requests of runs for cases of this queue', { complete: 'queues' }),
  run: texts('RUN', 'Only requests of this run, by number, ID, or @latest; can be repeated', { complete: 'runs' }),
  type: choice(['approval', 'question'], 'Only requests of this type'),
  olderThan: duration('Only requests that have been waiting for at least this long'),
} as const;

export interface FilterInput {
  agent: string | undefined;
  queue: string | undefined;
  run: string[];
  type: HumanRequest['type'] | undefined;
  olderThan: string | undefined;
}

/** The filter that the options name, at a time. @throws AopsError for an agent, queue, or run that does not exist */
export async function filterOf(
  context: Context,
  { agent, queue, run, type, olderThan }: FilterInput,
): Promise<(now: number) => RequestFilter> {
  const filter = {
    agentId: agent === undefined ? undefined : await agentId(context, agent),
    queueId: queue === undefined ? undefined : await queueId(context, queue),
    runIds: run.length === 0 ? undefined : await Promise.all(run.map((name) => runId(context, name))),
    type,
  };
  const age = olderThan === undefined ? undefined : parseDuration(olderThan);
  return (now) => ({ ...filter, until: age === undefined ? undefined : now - age });
}

/** The filters with the names that they have in the address of the team page. @throws as `filterOf` does */
export async function pageFilters(context: Context, input: FilterInput): Promise<PageFilters> {
  const { agentId, queueId, runIds, type } = (await filterOf(context, input))(context.clock.now());
  const age = input.olderThan === undefined ? undefined : parseDuration(input.olderThan);
  return {
    agent: agentId,
    queue: queueId,
    run: runIds,
    type,
    'older-than': age === undefined ? undefined : String(Math.ceil(age / 1_000)),
  };
}
