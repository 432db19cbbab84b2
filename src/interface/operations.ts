/** The runtime table of the contract: operation ID to method, path, and properties. Loads no schema. */
import type { Operation } from './operation.ts';
import { acpOperations } from './operations/acp.ts';
import { agentOperations } from './operations/agents.ts';
import { artifactOperations } from './operations/artifacts.ts';
import { billingOperations } from './operations/billing.ts';
import { caseOperations } from './operations/cases.ts';
import { connectionOperations } from './operations/connections.ts';
import { eventOperations } from './operations/events.ts';
import { localOperations } from './operations/local.ts';
import { mcpOperations } from './operations/mcp.ts';
import { memoryOperations } from './operations/memory.ts';
import { pluginOperations } from './operations/plugins.ts';
import { queueOperations } from './operations/queues.ts';
import { revisionOperations } from './operations/revisions.ts';
import { rubricOperations } from './operations/rubrics.ts';
import { runOperations } from './operations/runs.ts';
import { sandboxOperations } from './operations/sandboxes.ts';
import { scheduleOperations } from './operations/schedules.ts';
import { secretOperations } from './operations/secrets.ts';
import { teamOperations } from './operations/teams.ts';
import { triggerOperations } from './operations/triggers.ts';
import { webhookOperations } from './operations/webhooks.ts';

/** Every group, in the order of the reference. */
export const operationGroups = {
  teams: teamOperations,
  webhooks: webhookOperations,
  agents: agentOperations,
  schedules: scheduleOperations,
  secrets: secretOperations,
  acp: acpOperations,
  memory: memoryOperations,
  rubrics: rubricOperations,
  revisions: revisionOperations,
  sandboxes: sandboxOperations,
  runs: runOperations,
  events: eventOperations,
  queues: queueOperations,
  cases: caseOperations,
  triggers: triggerOperations,
  artifacts: artifactOperations,
  local: localOperations,
  billing: billingOperations,
  plugins: pluginOperations,
  mcp: mcpOperations,
  connections: connectionOperations,
} as const;

export const operations = {
  ...teamOperations,
  ...webhookOperations,
  ...agentOperations,
  ...scheduleOperations,
  ...secretOperations,
  ...acpOperations,
  ...memoryOperations,
  ...rubricOperations,
  ...sandboxOperations,
  ...runOperations,
  ...eventOperations,
  ...queueOperations,
  ...caseOperations,
  ...triggerOperations,
  ...artifactOperations,
  ...localOperations,
  ...billingOperations,
  ...pluginOperations,
  ...mcpOperations,
  ...connectionOperations,
  ...revisionOperations,
} as const;

export type OperationId = keyof typeof operations;

/** The row of an operation, widened from its literal types. */
export function operation(id: OperationId): Operation {
  return operations[id];
}

/** All operation IDs, in the order of the reference. */
export const operationIds = Object.keys(operations) as OperationId[];
