/** Before cases of a queue are deleted: what is in it, and whether that is meant. */

import { confirm } from '../../cli/kit/confirm.ts';
import type { Context } from '../../cli/kit/context.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { caseCounts, describeCounts, warnOfRuns } from '../../cli/records/case-counts.ts';
import type { Queue } from '../../interface/types.ts';

/**
 * The queue, once it is agreed that its cases go.
 * @param given id or name
 * @param question by the name of the queue
 * @throws AopsError when it is not agreed
 */
export async function confirmLoss(context: Context, given: string, question: (name: string) => string): Promise<Queue> {
  const client = await context.client();
  const { queue } = await client.call('getQueue', { params: { queue_id: await queueId(context, given) } });
  const counts = await caseCounts(client, queue.id);
  context.terminal.note(`${queue.name}: ${describeCounts(counts)}`);
  await confirm(context, `${question(queue.name)}${warnOfRuns(counts)}`);
  return queue;
}
