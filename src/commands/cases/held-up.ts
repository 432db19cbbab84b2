/** Pending cases that nobody takes before a person has answered: each agent of their queue works on as many as it may, and all of those wait. */

import type { CaseCounts } from '../../cli/records/case-counts.ts';
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError } from '../../client/errors.ts';
import type { Response } from '../../interface/types.ts';
import { countAgain, type Selection } from './selection.ts';

export const heldUpOperations = ['listQueueAgents'] as const;

/**
 * What the pending cases of a selection stand behind, as a word that is the same as long as nothing moves there; undefined when something may move by
 * itself, or that cannot be told. The service is asked several times for it, so only the same word twice says that nothing moves.
 */
export async function heldUp(client: Client, selection: Selection, counts: CaseCounts): Promise<string | undefined> {
  if (counts.pending === 0 || counts.claimed > 0 || counts.postponed > 0) return undefined;
  const behind: string[] = [];
  for (const part of selection.parts) {
    const { pending } = selection.parts.length === 1 ? counts : await countAgain(client, { ...selection, parts: [part] });
    const waiting = pending === 0 ? '' : await waitingRuns(client, part.queueId);
    if (waiting === undefined) return undefined;
    behind.push(waiting);
  }
  return behind.join(' ');
}

/** The largest `limit` of searchCases. */
const pageSize = 100;

/** The runs that hold up a whole queue; undefined when it is not held up. */
async function waitingRuns(client: Client, queueId: string): Promise<string | undefined> {
  const body = { filters: { status: ['claimed' as const, 'needs_input' as const] }, limit: pageSize };
  const { cases, total } = await client.call('searchCases', { params: { queue_id: queueId }, body });
  if (total > cases.length || cases.some(({ display_status: status }) => status !== 'needs_input')) return undefined;
  const takers = (await consumersOf(client, queueId)).filter((agent) => agent.case_trigger_enabled || agent.is_handover_target);
  // A limit that runs of something else use up is no matter of these cases.
  const places = takers.reduce(
    (sum, { at_concurrency_limit: full, concurrency_limit: limit }) => sum + (full ? (limit ?? 1) : Infinity),
    0,
  );
  if (takers.length === 0 || cases.length < places) return undefined;
  return cases
    .map(({ id, claimed_by_run_id: run, updated_at: since }) => `${id}:${run}:${since}`)
    .sort()
    .join(' ');
}

/** Nobody, where the service does not say who works on a queue. */
async function consumersOf(client: Client, queueId: string): Promise<Response<'listQueueAgents'>['consumers']> {
  try {
    return (await client.call('listQueueAgents', { params: { queue_id: queueId } })).consumers;
  } catch (error) {
    if (error instanceof ServiceAnswerError && (error.status === 403 || error.status === 404)) return [];
    throw error;
  }
}
