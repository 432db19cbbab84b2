/** Reads a run together with its pending request, the form in which commands print it. */
import type { Client } from '../../client/client.ts';
import type { Run } from '../../interface/types.ts';

/** @throws the errors of the client */
export async function readRun(client: Client, runId: string): Promise<Run> {
  const { run, pending_human_request } = await client.call('getRun', { params: { run_id: runId } });
  return { ...run, pending_human_request };
}
