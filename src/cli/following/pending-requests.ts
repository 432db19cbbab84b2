/** The pending human requests of a team. */
import { AopsError } from '../../base/errors.ts';
import { omitUndefined } from '../../base/omit-undefined.ts';
import type { Client } from '../../client/client.ts';
import { pagedRows } from '../../client/paging.ts';
import type { HumanRequest } from '../../interface/types.ts';
import { requestOf } from './answer-here.ts';

/** A human request with its run. */
export interface PendingRequest extends HumanRequest {
  run_id: string;
  run_title: string;
  /** The number of the run in its team; null if the service does not number runs. */
  run_number: number | null;
  agent_id: string | null;
  agent_name: string;
  /** The profile with which it was read, in a list of several profiles. */
  profile?: string | null | undefined;
}

/** Which requests to return; a request must match everything that is specified. */
export interface RequestFilter {
  agentId?: string | undefined;
  queueId?: string | undefined;
  runIds?: readonly string[] | undefined;
  type?: HumanRequest['type'] | undefined;
  /** Only requests that were made at this time or earlier, in milliseconds since the epoch. */
  until?: number | undefined;
}

/** Called for a waiting run that cannot be read. */
export type OnUnreadable = (runId: string, error: AopsError) => void;

/**
 * All pending requests, oldest first. Requests that are resolved in the meantime are omitted; runs that cannot be read are reported and omitted.
 * @throws AopsError when the service cannot be read at all
 */
export async function pendingRequests(
  client: Pick<Client, 'call'>,
  teamId: string,
  filter: RequestFilter,
  onUnreadable: OnUnreadable,
): Promise<PendingRequest[]> {
  const requests: PendingRequest[] = [];
  const runs = pagedRows(async (limit, offset) => {
    // The service filters by what the interface defines; the rest is filtered here.
    const query = omitUndefined({ agent_id: filter.agentId, case_queue_id: filter.queueId });
    const page = await client.call('listRuns', { params: { teamId }, query: { status: 'waiting', limit, offset, ...query } });
    return { items: page.data, total: page.total };
  }, 100);
  for await (const run of runs) {
    if (filter.runIds !== undefined && !filter.runIds.includes(run.id)) continue;
    // The list of a service might not include the request.
    const request = run.pending_human_request ?? (await readableRequest(client, run.id, onUnreadable));
    if (request && matches(request, filter)) {
      const { id: run_id, title: run_title, run_number = null, agent_id, agent_name } = run;
      requests.push({ ...request, run_id, run_title, run_number, agent_id, agent_name });
    }
  }
  return requests.sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
}

const matches = (request: HumanRequest, { type, until }: RequestFilter): boolean =>
  (type === undefined || request.type === type) && (until === undefined || Date.parse(request.created_at) <= until);

/** Errors that concern a single run, so that other runs can still be read. */
const singleRunErrors: readonly string[] = ['run_not_shown', 'unusable_answer'];

async function readableRequest(client: Pick<Client, 'call'>, runId: string, onUnreadable: OnUnreadable): Promise<HumanRequest | null> {
  try {
    return await requestOf(client, runId);
  } catch (error) {
    if (!(error instanceof AopsError) || !singleRunErrors.includes(error.code)) throw error;
    onUnreadable(runId, error);
    return null;
  }
}
