/** Calls handlers, both for requests over HTTP and for tools of the MCP endpoint. */
import { type OperationId, operation } from '../../interface/operations.ts';
import { schemasOf } from '../../interface/schemas.ts';
import { requirePermission } from './access.ts';
import { type CallOperation, Reply, type RequestContext } from './context.ts';
import type { ServiceApi } from './exchange.ts';
import type { Match } from './router.ts';
import { check, readQuery } from './validate.ts';

/** Validates the input of an operation and calls its handler. Throws ServiceError. */
export async function callOperation(
  { handlerOf }: Pick<ServiceApi, 'handlerOf'>,
  context: RequestContext,
  { id, params }: Match,
  search: URLSearchParams,
  receivedBody: unknown,
): Promise<Reply<unknown>> {
  const { query: querySchema, body: bodySchema } = schemasOf(id);
  const query = readQuery(querySchema, search);
  let body: unknown;
  if (bodySchema !== undefined) {
    // A body without required members may be left out.
    body = receivedBody === undefined && !hasRequired(bodySchema) ? {} : receivedBody;
    check(bodySchema, body, 'body');
  }
  const result = await handlerOf(id)(context, { params, query, body });
  return result instanceof Reply ? result : new Reply(operation(id).success, result);
}

const hasRequired = (schema: { required?: unknown }): boolean => Array.isArray(schema.required) && schema.required.length > 0;

/** Calls operations as the caller of `context`, with the same rights, in the caller's team. */
export const operationCaller =
  (api: Pick<ServiceApi, 'handlerOf'>, context: RequestContext): CallOperation =>
  async (id: OperationId, { params = {}, query = {}, body }) => {
    requirePermission(context, id);
    const values = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(values.map(([name, value]): [string, string] => [name, String(value)]));
    const reply = await callOperation(api, context, { id, params: { teamId: context.teamId, ...params } }, search, body);
    return reply.body as never;
  };
