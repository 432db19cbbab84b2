import type { Operation } from '../operation.ts';

/** Queues, which hold cases (further groups). */
export const queueOperations = {
  listQueues: { method: 'GET', path: '/v2/teams/{teamId}/queues', idempotent: false, success: 200, summary: 'List the queues of a team' },
  createQueue: { method: 'POST', path: '/v2/teams/{teamId}/queues', idempotent: true, success: 201, summary: 'Create a queue' },
  getQueue: { method: 'GET', path: '/v2/queues/{queue_id}', idempotent: false, success: 200, summary: 'Get a queue' },
  updateQueue: { method: 'PATCH', path: '/v2/queues/{queue_id}', idempotent: true, success: 200, summary: 'Rename or describe a queue' },
  deleteQueue: {
    method: 'DELETE',
    path: '/v2/queues/{queue_id}',
    idempotent: true,
    success: 200,
    summary: 'Delete a queue with its cases, and interrupt their runs',
  },
} as const satisfies Record<string, Operation>;
