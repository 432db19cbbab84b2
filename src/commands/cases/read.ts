/** Reads cases by their IDs: a few of them one by one, many by reading the pages of their queue, which takes far fewer requests. */
import type { Client } from '../../client/client.ts';
import { ServiceAnswerError, wrongResource } from '../../client/errors.ts';
import type { Case } from '../../interface/types.ts';

/** More cases than this are searched for in their queue. */
const few = 20;
const pageSize = 100;

/**
 * The cases in the order of `ids`, which must be distinct.
 * @param options their queue, if known, and whether to omit cases that do not exist
 * @throws ServiceAnswerError 404 for a case that does not exist, UnusableAnswerError for a response about another case
 */
export async function readCases(
  client: Client,
  ids: readonly string[],
  { queueId, ignoreNotFound = false }: { queueId?: string | undefined; ignoreNotFound?: boolean } = {},
): Promise<Case[]> {
  const casesById = new Map<string, Case>();
  const missingIds = new Set<string>();
  const unreadIds = (): string[] => ids.filter((id) => !casesById.has(id) && !missingIds.has(id));
  /** Reads a case and remembers the result, so that each is requested only once. */
  const readOne = async (id: string): Promise<void> => {
    const row = await readCase(client, id, ignoreNotFound);
    if (row === undefined) missingIds.add(id);
    else casesById.set(id, row);
  };
  let queue = queueId;
  const searchedQueues = new Set<string>();
  while (unreadIds().length > few) {
    const [id] = unreadIds() as [string];
    if (queue === undefined) await readOne(id);
    queue ??= casesById.get(id)?.queue_id;
    if (queue === undefined) continue;
    if (searchedQueues.has(queue)) break;
    searchedQueues.add(queue);
    await searchQueue(client, queue, new Set(unreadIds()), casesById);
    queue = undefined;
  }
  // This includes cases that moved to another page while the pages were read.
  for (const id of unreadIds()) await readOne(id);
  return ids.flatMap((id) => casesById.get(id) ?? []);
}

async function readCase(client: Client, id: string, ignoreNotFound: boolean): Promise<Case | undefined> {
  try {
    const { case: row } = await client.call('getCase', { params: { case_id: id } });
    if (row.id === id) return row;
    throw wrongResource('case', id, { status: 200, method: 'GET', path: `/v2/cases/${id}` });
  } catch (error) {
    if (ignoreNotFound && error instanceof ServiceAnswerError && error.status === 404) return undefined;
    throw error;
  }
}

/** Reads the pages of a queue as long as that takes fewer requests than reading the missing cases one by one. */
async function searchQueue(client: Client, queueId: string, ids: Set<string>, casesById: Map<string, Case>): Promise<void> {
  for (let offset = 0; ids.size > 0; ) {
    const { cases, total } = await client.call('searchCases', { params: { queue_id: queueId }, body: { limit: pageSize, offset } });
    for (const row of cases) if (ids.delete(row.id)) casesById.set(row.id, row);
    if (offset + cases.length >= total || cases.length === 0 || (total - offset) / pageSize > ids.size) return;
    offset += cases.length;
  }
}
