/** Reads cases by their ids: a few one by one, many by the pages of their queue, which are far fewer requests. */
import type { Client } from '../../client/client.ts';
import type { Case } from '../../interface/types.ts';

/** More cases than this are looked for in their queue. */
const few = 20;
const pageSize = 100;

/**
 * The cases in the order of `ids`, which are all different.
 * @param queueId where they are, if that is known
 * @throws ServiceAnswerError 404 for one that is not there
 */
export async function readCases(client: Client, ids: readonly string[], queueId?: string): Promise<Case[]> {
  const found = new Map<string, Case>();
  const missing = (): string[] => ids.filter((id) => !found.has(id));
  const readOne = async (id: string): Promise<Case> => {
    const { case: row } = await client.call('getCase', { params: { case_id: id } });
    found.set(row.id, row);
    return row;
  };
  let queue = queueId;
  const looked = new Set<string>();
  while (missing().length > few) {
    queue ??= (await readOne(missing()[0] as string)).queue_id;
    if (looked.has(queue)) break;
    looked.add(queue);
    await lookThrough(client, queue, new Set(missing()), found);
    queue = undefined;
  }
  // Those that changed their place while the pages were read, too.
  for (const id of missing()) await readOne(id);
  return ids.map((id) => found.get(id) as Case);
}

/** Reads the pages of a queue as long as that takes fewer requests than the cases that are still looked for. */
async function lookThrough(client: Client, queueId: string, wanted: Set<string>, found: Map<string, Case>): Promise<void> {
  for (let offset = 0; wanted.size > 0; ) {
    const { cases, total } = await client.call('searchCases', { params: { queue_id: queueId }, body: { limit: pageSize, offset } });
    for (const row of cases) if (wanted.delete(row.id)) found.set(row.id, row);
    if (offset + cases.length >= total || cases.length === 0 || (total - offset) / pageSize > wanted.size) return;
    offset += cases.length;
  }
}
