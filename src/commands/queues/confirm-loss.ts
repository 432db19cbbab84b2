/** Shows how many cases a queue has and asks for confirmation before they are deleted. */

import { confirm } from '../../cli/kit/confirm.ts';
import type { Context } from '../../cli/kit/context.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { caseCounts, describeCounts, warnOfRuns } from '../../cli/records/case-counts.ts';
import type { Queue } from '../../interface/types.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';

/**
 * The queue, once deleting its cases is confirmed.
 * @param word its ID or name
 * @param question makes the question from the name of the queue
 * @throws AopsError when it is not confirmed
 */
export async function confirmLoss(context: Context, word: string, question: (name: string) => string): Promise<Queue> {
  const client = await context.client();
  const { queue } = await client.call('getQueue', { params: { queue_id: await queueId(context, word) } });
  const counts = await caseCounts(client, queue.id);
  context.terminal.note(`${sanitizeLine(queue.name)}: ${describeCounts(counts)}`);
  await confirm(context, `${question(queue.name)}${warnOfRuns(counts)}`);
  return queue;
}
