/** Shows a queue. */
import type { Queue } from '../../interface/types.ts';
import { argument } from '../kit/flags.ts';
import { time } from '../kit/output.ts';

/** The argument for the queue of a command. */
export const queueArgument = argument('The queue, by ID or name', { complete: 'queues' });

export const queueRecord = (queue: Queue) => ({
  ID: queue.id,
  Name: queue.name,
  Description: queue.description,
  Folder: queue.folder_id ?? undefined,
  Created: time(queue.created_at),
});
