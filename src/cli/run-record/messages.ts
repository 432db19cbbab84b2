/** All messages of a run, oldest first, page by page. */
import type { Client } from '../../client/client.ts';
import { pagedRows } from '../../client/paging.ts';
import type { RunMessage } from '../../interface/types.ts';

/** The largest `limit` of listRunMessages. */
const pageSize = 50;

export const runMessages = (client: Client, runId: string): AsyncIterable<RunMessage> =>
  pagedRows(async (limit, offset) => {
    const page = await client.call('listRunMessages', { params: { run_id: runId }, query: { limit, offset } });
    return { items: page.messages, total: page.total };
  }, pageSize);
