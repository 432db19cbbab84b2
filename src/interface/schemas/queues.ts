import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { queueOperations } from '../operations/queues.ts';
import { DateTime, Named, Nullable, paging, Uuid } from './common.ts';

export const Queue = Named('Queue', {
  id: Uuid,
  name: Type.String(),
  description: Nullable(Type.String()),
  folder_id: Nullable(Uuid),
  automation_id: Type.Optional(Nullable(Uuid)),
  team_id: Type.Optional(Nullable(Type.String())),
  created_at: DateTime,
  has_approvals: Type.Boolean(),
});
export type Queue = Static<typeof Queue>;

const Name = Type.String({ minLength: 1, maxLength: 100 });
const Description = Type.Optional(Nullable(Type.String({ maxLength: 500 })));
const FolderId = Type.Optional(Nullable(Uuid));

export const queueSchemas = {
  listQueues: {
    query: Type.Object({ ...paging(250, 250), automation_id: Type.Optional(Uuid) }),
    response: Type.Object({ queues: Type.Array(Queue), total: Type.Integer(), limit: Type.Integer(), offset: Type.Integer() }),
  },
  createQueue: {
    body: Type.Object({ name: Name, description: Description, folder_id: FolderId, automation_id: Type.Optional(Nullable(Uuid)) }),
    response: Type.Object({ queue: Queue }),
  },
  getQueue: { response: Type.Object({ queue: Queue }) },
  updateQueue: {
    body: Type.Object({ name: Type.Optional(Name), description: Description, folder_id: FolderId }),
    response: Type.Object({ queue: Queue }),
  },
  deleteQueue: {
    response: Type.Object({
      success: Type.Boolean(),
      deleted_case_count: Type.Integer(),
      interrupted_run_ids: Type.Array(Uuid),
    }),
  },
} as const satisfies Record<keyof typeof queueOperations, OperationSchemas>;
