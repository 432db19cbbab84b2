import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { triggerOperations } from '../operations/triggers.ts';
import { DateTime, Named, Nullable, Uuid, Words } from './common.ts';

const Agents = Type.Array(Type.Object({ id: Type.String(), name: Type.String() }));

/** Makes an agent work on the cases of a queue. It is a conflict if other agents do so too. */
export const CaseTrigger = Named('CaseTrigger', {
  id: Type.String(),
  agent_id: Type.String(),
  case_queue_id: Type.String(),
  case_queue_name: Type.String(),
  user_id: Type.String(),
  enabled: Type.Boolean(),
  /** Cases at a time; null means as many as the plan allows. */
  concurrency: Nullable(Type.Integer()),
  created_at: DateTime,
  updated_at: DateTime,
  creator_display_name: Nullable(Type.String()),
  can_disable: Type.Boolean(),
  has_conflict: Type.Boolean(),
  conflicting_agents: Agents,
});
export type CaseTrigger = Static<typeof CaseTrigger>;

const problems = Type.Array(Words(['multiple_triggers', 'producer_consumer_mix']));

/** An agent whose procedure adds cases to a queue. */
export const QueueProducer = Named('QueueProducer', {
  agent_id: Uuid,
  agent_name: Type.String(),
  case_trigger_enabled: Type.Boolean(),
  case_trigger_queue_name: Nullable(Type.String()),
  problems,
});
export type QueueProducer = Static<typeof QueueProducer>;

/** An agent that works on cases of a queue, or can receive some. */
export const QueueConsumer = Named('QueueConsumer', {
  agent_id: Uuid,
  agent_name: Type.String(),
  case_trigger_enabled: Type.Boolean(),
  is_handover_target: Type.Boolean(),
  problems,
  concurrency_limit: Type.Optional(Type.Integer({ minimum: 0 })),
  at_concurrency_limit: Type.Optional(Type.Boolean()),
});
export type QueueConsumer = Static<typeof QueueConsumer>;

const concurrency = Type.Optional(Nullable(Type.Literal(1)));
const Answer = Type.Object({ case_trigger: CaseTrigger });

export const triggerSchemas = {
  listAgentCaseTriggers: { response: Type.Object({ case_triggers: Type.Array(CaseTrigger) }) },
  createAgentCaseTrigger: {
    body: Type.Object({ case_queue_id: Uuid, enabled: Type.Boolean(), concurrency }),
    response: Answer,
  },
  previewAgentCaseTriggerConflicts: {
    query: Type.Object({ case_queue_id: Uuid }),
    response: Type.Object({ has_conflict: Type.Boolean(), conflicting_agents: Agents }),
  },
  getAgentCaseTrigger: { response: Answer },
  updateAgentCaseTrigger: {
    body: Type.Object({ case_queue_id: Type.Optional(Uuid), enabled: Type.Optional(Type.Boolean()), concurrency }),
    response: Answer,
  },
  deleteAgentCaseTrigger: { response: Type.Object({ success: Type.Boolean() }) },
  listQueueAgents: {
    response: Type.Object({
      queue_name: Type.String(),
      producers: Type.Array(QueueProducer),
      consumers: Type.Array(QueueConsumer),
    }),
  },
} as const satisfies Record<keyof typeof triggerOperations, OperationSchemas>;
