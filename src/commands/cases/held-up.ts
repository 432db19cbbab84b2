/** Detects pending cases that no agent takes before a person answers: every agent of their queue has reached its limit, and all of its cases wait for input. */

import type { CaseCounts } from '../../cli/records/case-counts.ts';
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { Response } from '../../interface/types.ts';
import { countAgain, type Selection } from './selection.ts';

export const heldUpOperations = ['listQueueAgents'] as const;

/**
 * Identifies what blocks the pending cases of a selection, as a string that stays the same as long as nothing changes; undefined if something might
 * change by itself, or if this is unknown. It takes several requests, so only two equal strings in a row show that nothing changes.
 */
export async function findBlockingRuns(client: Client, selection: Selection, counts: CaseCounts): Promise<string | undefined> {
  if (counts.pending === 0 || counts.claimed > 0 || counts.postponed > 0) return undefined;
  const blockingRuns: string[] = [];
  for (const part of selection.parts) {
    const { pending } = selection.parts.length === 1 ? counts : await countAgain(client, { ...selection, parts: [part] });
    const waiting = pending === 0 ? '' : await waitingRuns(client, part.queueId);
    if (waiting === undefined) return undefined;
    blockingRuns.push(waiting);
  }
  return blockingRuns.join(' ');
}

/** The largest `limit` of searchCases. */
const pageSize = 100;

/** The runs that block a whole queue; undefined if it is not blocked. */
async function waitingRuns(client: Client, queueId: string): Promise<string | undefined> {
  const body = { filters: { status: ['claimed' as const, 'needs_input' as const] }, limit: pageSize };
  const { cases, total } = await client.call('searchCases', { params: { queue_id: queueId }, body });
  if (total > cases.length || cases.some(({ display_status: status }) => status !== 'needs_input')) return undefined;
  const agents = (await consumersOf(client, queueId)).filter((agent) => agent.case_trigger_enabled || agent.is_handover_target);
  // A limit that is used up by runs outside this queue does not count: they may end by themselves.
  const places = agents.reduce(
    (sum, { at_concurrency_limit: full, concurrency_limit: limit }) => sum + (full ? (limit ?? 1) : Infinity),
    0,
  );
  if (agents.length === 0 || cases.length < places) return undefined;
  return cases
    .map(({ id, claimed_by_run_id: run, updated_at: since }) => `${id}:${run}:${since}`)
    .sort()
    .join(' ');
}

/** The agents that work on a queue; empty if the service does not report them. */
async function consumersOf(client: Client, queueId: string): Promise<Response<'listQueueAgents'>['consumers']> {
  try {
    return (await client.call('listQueueAgents', { params: { queue_id: queueId } })).consumers;
  } catch (error) {
    if (error instanceof ServiceAnswerError && (error.status === 403 || error.status === 404)) return [];
    throw error;
  }
}
