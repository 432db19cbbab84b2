/** The one way to a handler, for a request over HTTP and for a tool of the MCP endpoint. */
import { type OperationId, operation } from '../../interface/operations.ts';
import { schemasOf } from '../../interface/schemas.ts';
import { requirePermission } from './access.ts';
import { type CallOperation, Reply, type RequestContext } from './context.ts';
import type { ServiceApi } from './exchange.ts';
import type { Match } from './router.ts';
import { check, readQuery } from './validate.ts';

/** Checks an operation's input against its schemas and calls its handler. Throws ServiceError. */
export async function callOperation(
  { handlerOf }: Pick<ServiceApi, 'handlerOf'>,
  context: RequestContext,
  { id, params }: Match,
  search: URLSearchParams,
  given: unknown,
): Promise<Reply<unknown>> {
  const { query: querySchema, body: bodySchema } = schemasOf(id);
  const query = readQuery(querySchema, search);
  let body: unknown;
  if (bodySchema !== undefined) {
    // Where nothing in it is required, the body itself is not.
    body = given === undefined && !hasRequired(bodySchema) ? {} : given;
    check(bodySchema, body, 'body');
  }
  const result = await handlerOf(id)(context, { params, query, body });
  return result instanceof Reply ? result : new Reply(operation(id).success, result);
}

const hasRequired = (schema: { required?: unknown }): boolean => Array.isArray(schema.required) && schema.required.length > 0;

/** Calls operations as the caller of `context`, with no more rights, in the caller's team. */
export const operationCaller =
  (api: Pick<ServiceApi, 'handlerOf'>, context: RequestContext): CallOperation =>
  async (id: OperationId, { params = {}, query = {}, body }) => {
    requirePermission(context, id);
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
    const reply = await callOperation(api, context, { id, params: { teamId: context.teamId, ...params } }, search, body);
    return reply.body as never;
  };
