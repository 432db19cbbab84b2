/**
 * The record of a run: everything that the service has about it, except for its messages and files, which are read as they are needed.
 * Parts that a service does not offer, or that the credential must not read, are missing; the record says which.
 */
import type { Client } from '../../client/client.ts';
import { pagedRows } from '../../client/paging.ts';
import type { Build, RecordedHumanRequest, Run, RunDetail, RunListItem, WorkflowExecutionReport } from '../../interface/types.ts';
import type { Context } from '../kit/context.ts';
import { resolveRun } from '../names/resolve-run.ts';
import { readPart } from './gaps.ts';

export interface RunRecord {
  run: Run;
  /** Its entry in the list of runs, with its title, and the names of its agent and its case. */
  listItem: RunListItem | undefined;
  agentName: string | null;
  revision: Build | undefined;
  detail: RunDetail | undefined;
  report: WorkflowExecutionReport | undefined;
  /** Its human requests with their answers, oldest first; undefined if the service does not list them. */
  requests: RecordedHumanRequest[] | undefined;
  /** What could not be read, in sentences. */
  gaps: string[];
}

export const recordOperations = [
  'listRuns',
  'getRun',
  'getRunDetail',
  'getWorkflowExecutionReport',
  'getAgent',
  'getRevision',
  'listRunHumanRequests',
  'listRunMessages',
] as const;

/** @throws AopsError `run_not_found` and other errors of names */
export async function readRunRecord(context: Context, name: string): Promise<RunRecord> {
  const client = await context.client();
  const { id, listItem } = await resolveRun(context, name);
  const gaps: string[] = [];
  const { run: fields, pending_human_request } = await client.call('getRun', { params: { run_id: id } });
  const run: Run = { ...fields, pending_human_request };
  const { agent_id: agentId, build_id } = run;
  const part = <T>(name: string, read: () => Promise<T>): Promise<T | undefined> => readPart(gaps, name, read);
  const ids = { agentId: agentId ?? '', runId: id };
  const [item, agent, revision, detail, report, requests] = await Promise.all([
    listItem ?? (await listedRun(context, client, run)),
    agentId === null ? undefined : part('The agent', () => client.call('getAgent', { params: { agent_id: agentId } })),
    agentId === null || build_id === undefined
      ? undefined
      : part('The revision', () => client.call('getRevision', { params: { agent_id: agentId, build_id } })),
    agentId === null ? undefined : part('The details', () => client.call('getRunDetail', { params: ids })),
    agentId === null ? undefined : part('The execution report', () => client.call('getWorkflowExecutionReport', { params: ids })),
    part('The list of human requests', () => humanRequests(client, id)),
  ]);
  if (agentId === null) gaps.push('The agent of the run no longer exists, so its details and its revision are not available.');
  return {
    run,
    listItem: item,
    agentName: agent?.agent.name ?? item?.agent_name ?? null,
    revision: revision?.build,
    detail,
    report,
    requests,
    gaps,
  };
}

/** The entry of a run in the list, if the service can find it by its number. */
async function listedRun(context: Context, client: Client, { id, run_number }: Run): Promise<RunListItem | undefined> {
  if (typeof run_number !== 'number') return undefined;
  const params = { teamId: context.teamId() };
  const { data } = await client.call('listRuns', { params, query: { run_number, limit: 1, include_total: 'false' } });
  return data.find((row) => row.id === id);
}

async function humanRequests(client: Client, run_id: string): Promise<RecordedHumanRequest[]> {
  const rows = pagedRows(async (limit, offset) => {
    const page = await client.call('listRunHumanRequests', { params: { run_id }, query: { limit, offset } });
    return { items: page.human_requests, total: page.total };
  }, 50);
  const requests: RecordedHumanRequest[] = [];
  for await (const request of rows) requests.push(request);
  return requests;
}
