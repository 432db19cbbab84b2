/** The schemas of every operation. Loading this loads the schema library, so the command line imports only types from it. */
import type { OperationSchemas } from './operation.ts';
import type { OperationId } from './operations.ts';
import { acpSchemas } from './schemas/acp.ts';
import { agentSchemas } from './schemas/agents.ts';
import { artifactSchemas } from './schemas/artifacts.ts';
import { billingSchemas } from './schemas/billing.ts';
import { caseSchemas } from './schemas/cases.ts';
import { connectionSchemas } from './schemas/connections.ts';
import { eventSchemas } from './schemas/events.ts';
import { localSchemas } from './schemas/local.ts';
import { mcpSchemas } from './schemas/mcp.ts';
import { memorySchemas } from './schemas/memory.ts';
import { pluginSchemas } from './schemas/plugins.ts';
import { queueSchemas } from './schemas/queues.ts';
import { revisionSchemas } from './schemas/revisions.ts';
import { rubricSchemas } from './schemas/rubrics.ts';
import { runSchemas } from './schemas/runs.ts';
import { sandboxSchemas } from './schemas/sandboxes.ts';
import { scheduleSchemas } from './schemas/schedules.ts';
import { secretSchemas } from './schemas/secrets.ts';
import { teamSchemas } from './schemas/teams.ts';
import { triggerSchemas } from './schemas/triggers.ts';
import { webhookSchemas } from './schemas/webhooks.ts';

export const schemas = {
  ...teamSchemas,
  ...webhookSchemas,
  ...agentSchemas,
  ...scheduleSchemas,
  ...secretSchemas,
  ...acpSchemas,
  ...memorySchemas,
  ...rubricSchemas,
  ...sandboxSchemas,
  ...runSchemas,
  ...eventSchemas,
  ...queueSchemas,
  ...caseSchemas,
  ...triggerSchemas,
  ...artifactSchemas,
  ...localSchemas,
  ...billingSchemas,
  ...pluginSchemas,
  ...mcpSchemas,
  ...connectionSchemas,
  ...revisionSchemas,
} as const satisfies Record<OperationId, OperationSchemas>;

/** The schemas of an operation, widened from their literal types. */
export function schemasOf(id: OperationId): OperationSchemas {
  return schemas[id];
}
