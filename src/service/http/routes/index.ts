/** Every operation's handler. A group that is added to the contract is added here. */
import type { OperationId } from '../../../interface/operations.ts';
import type { Handler, RequestContext } from '../context.ts';
import { agentRoutes } from './agents.ts';
import { billingRoutes } from './billing.ts';
import { localRoutes } from './local.ts';
import { pluginRoutes } from './plugins.ts';
import { runRoutes } from './runs.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { teamRoutes } from './teams.ts';
import { webhookRoutes } from './webhooks.ts';

const handlers: { readonly [Id in OperationId]: Handler<Id> } = {
  ...teamRoutes,
  ...webhookRoutes,
  ...agentRoutes,
  ...sandboxRoutes,
  ...runRoutes,
  ...localRoutes,
  ...billingRoutes,
  ...pluginRoutes,
};

/** A handler whose input has been checked against the operation's schemas. */
export type AnyHandler = (context: RequestContext, input: { params: unknown; query: unknown; body: unknown }) => Promise<unknown>;

export const handlerOf = (id: OperationId): AnyHandler => handlers[id] as AnyHandler;
