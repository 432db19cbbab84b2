/** The handlers of all operations. A group that is added to the contract must be added here. */
import type { OperationId } from '../../interface/operations.ts';
import type { Handler, RawHandler } from '../http/context.ts';
import type { AnyHandler, ServiceApi } from '../http/exchange.ts';
import { acpRoutes } from './acp.ts';
import { agentRoutes } from './agents.ts';
import { artifactRoutes } from './artifacts.ts';
import { billingRoutes } from './billing.ts';
import { builderRoutes } from './builder-runs.ts';
import { caseRoutes } from './cases.ts';
import { connectionRoutes } from './connections.ts';
import { eventRoutes } from './events.ts';
import { localRoutes } from './local.ts';
import { mcpRoutes } from './mcp.ts';
import { memoryRoutes } from './memory.ts';
import { openAnswer, openRoute } from './open-routes.ts';
import { pluginRoutes } from './plugins.ts';
import { queueRoutes } from './queues.ts';
import { rubricRoutes } from './rubrics.ts';
import { runRoutes } from './runs.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { scheduleRoutes } from './schedules.ts';
import { secretRoutes } from './secrets.ts';
import { teamRoutes } from './teams.ts';
import { triggerRoutes } from './triggers.ts';
import { webhookRoutes } from './webhooks.ts';

const rawHandlers = { ...mcpRoutes, ...eventRoutes };

const handlers: { readonly [Id in Exclude<OperationId, keyof typeof rawHandlers>]: Handler<Id> } = {
  ...teamRoutes,
  ...webhookRoutes,
  ...agentRoutes,
  ...scheduleRoutes,
  ...secretRoutes,
  ...acpRoutes,
  ...memoryRoutes,
  ...rubricRoutes,
  ...builderRoutes,
  ...sandboxRoutes,
  ...runRoutes,
  ...queueRoutes,
  ...caseRoutes,
  ...triggerRoutes,
  ...artifactRoutes,
  ...localRoutes,
  ...billingRoutes,
  ...pluginRoutes,
  ...connectionRoutes,
};

export const serviceApi: ServiceApi = {
  handlerOf: (id) => (handlers as Record<string, unknown>)[id] as AnyHandler,
  rawHandlerOf: (id) => (rawHandlers as Partial<Record<OperationId, RawHandler>>)[id],
  openRoute,
  openAnswer,
};
