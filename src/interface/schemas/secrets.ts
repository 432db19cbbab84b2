import Type, { type Static } from 'typebox';
import type { OperationSchemas } from '../operation.ts';
import type { secretOperations } from '../operations/secrets.ts';
import { DateTime, Named } from './common.ts';

/** A secret of an agent. Its value is write-only. */
export const AgentSecret = Named('AgentSecret', {
  /** The name of the environment variable that contains it in processes of the agent. */
  name: Type.String(),
  /** When its value was stored. */
  updated_at: DateTime,
});
export type AgentSecret = Static<typeof AgentSecret>;

export const secretSchemas = {
  listAgentSecrets: { response: Type.Object({ secrets: Type.Array(AgentSecret) }) },
  setAgentSecret: {
    body: Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }), value: Type.String({ minLength: 1, maxLength: 65_536 }) }),
    response: Type.Object({ secret: AgentSecret }),
  },
  deleteAgentSecret: { response: Type.Object({ success: Type.Boolean() }) },
} as const satisfies Record<keyof typeof secretOperations, OperationSchemas>;
