/**
 * What every request passes, in this order: Host and Origin, authentication, rate limit, route, scope, Idempotency-Key,
 * body, earlier responses, validation, handler. Nothing before the earlier responses is ever kept under a key.
 */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { type OperationId, operation } from '../../interface/operations.ts';
import { schemasOf } from '../../interface/schemas.ts';
import type { Engine } from '../engine/engine.ts';
import { ServiceError } from '../errors.ts';
import { errorFields } from '../log.ts';
import type { UrlSigner } from '../signed-urls.ts';
import { requirePermission } from './access.ts';
import { type Answer, errorAnswer, jsonAnswer } from './answer.ts';
import { authenticate, type Caller } from './authenticate.ts';
import { jsonLimit, parseJson, parseMultipart, readBody, uploadLimit } from './body.ts';
import { Reply, type RequestContext } from './context.ts';
import type { IdempotencyLayer } from './idempotency.ts';
import { fingerprint, idempotencyKey } from './idempotency-request.ts';
import type { HttpLimits } from './limits.ts';
import { openAnswer } from './open-routes.ts';
import { type OriginCheck, requireSingleHeaders } from './origin.ts';
import type { RateLimiter } from './rate-limit.ts';
import { type Match, pathSegments, type Router, routeNotFound } from './router.ts';
import { handlerOf } from './routes/index.ts';
import { check, readQuery } from './validate.ts';

export interface HttpParts {
  engine: Engine;
  signer: UrlSigner;
  instanceId: string;
  limits: HttpLimits;
  checkOrigin: OriginCheck;
  limiter: RateLimiter;
  /** Counts wrong client secrets. */
  attempts: RateLimiter;
  idempotency: IdempotencyLayer;
  router: Router;
}

/** A request on its way through the pipeline. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly method: string;
  readonly segments: string[];
  readonly search: URLSearchParams;
  readonly baseUrl: string;
}

export interface Outcome {
  answer: Answer;
  /** Whose rate limit the response tells. */
  caller: string;
  operation?: OperationId;
}

/** Handles a request from its first header to its answer. Never throws. */
export async function handle(parts: HttpParts, request: IncomingMessage, requestId: string): Promise<Outcome> {
  const outcome: { caller: string; operation?: OperationId } = { caller: addressOf(request) };
  try {
    requireSingleHeaders(request);
    parts.checkOrigin(request.headers);
    const exchange = readRequestLine(request, requestId);
    const open = await openAnswer(parts, exchange);
    if (open !== undefined) return { ...outcome, ...open };
    const caller = await letIn(parts, request, outcome.caller);
    outcome.caller = caller.credentialId;
    parts.limiter.take(caller.credentialId);
    const match = parts.router.match(exchange.method, exchange.segments);
    outcome.operation = match.id;
    requirePermission(caller, match.id);
    return { ...outcome, answer: await answer(parts, exchange, caller, match) };
  } catch (error) {
    return { ...outcome, answer: failed(parts, error, request, requestId) };
  }
}

/** Attempts without a valid token count against the address they come from. */
async function letIn(parts: HttpParts, request: IncomingMessage, address: string): Promise<Caller> {
  try {
    return await authenticate(parts.engine.store, request.headers.authorization, parts.engine.clock.now());
  } catch (error) {
    parts.limiter.take(address);
    throw error;
  }
}

async function answer(parts: HttpParts, exchange: Exchange, caller: Caller, match: Match): Promise<Answer> {
  const { request, requestId, method, segments, search } = exchange;
  const target = operation(match.id);
  const key = target.idempotent ? idempotencyKey(request.rawHeaders) : undefined;
  const takesBody = schemasOf(match.id).body !== undefined;
  const limit = target.request === undefined ? jsonLimit : uploadLimit;
  const body = target.method === 'GET' ? Buffer.alloc(0) : await readBody(request, limit, parts.limits.bodyMilliseconds);
  const context: RequestContext = { engine: parts.engine, signer: parts.signer, ...caller, requestId, baseUrl: exchange.baseUrl };
  const execute = async (): Promise<Answer> => {
    try {
      return await callHandler(context, match, search, takesBody ? body : undefined, request.headers['content-type']);
    } catch (error) {
      return failed(parts, error, request, requestId);
    }
  };
  if (key === undefined) return execute();
  const print = fingerprint({ method, segments, search, contentType: request.headers['content-type'], body });
  return parts.idempotency.answer({ credentialId: caller.credentialId, key, fingerprint: print, requestId }, execute);
}

async function callHandler(
  context: RequestContext,
  { id, params }: Match,
  search: URLSearchParams,
  bytes: Buffer | undefined,
  contentType: string | undefined,
): Promise<Answer> {
  const { query: querySchema, body: bodySchema } = schemasOf(id);
  const query = readQuery(querySchema, search);
  let body: unknown;
  if (bytes !== undefined && bodySchema !== undefined) {
    body = operation(id).request === undefined ? parseJson(bytes, contentType) : await parseMultipart(bytes, contentType);
    // Where nothing in it is required, the body itself is not.
    if (body === undefined && !hasRequired(bodySchema)) body = {};
    check(bodySchema, body, 'body');
  }
  const result = await handlerOf(id)(context, { params, query, body });
  return result instanceof Reply ? jsonAnswer(result.status, result.body) : jsonAnswer(operation(id).success, result);
}

const hasRequired = (schema: { required?: unknown }): boolean => Array.isArray(schema.required) && schema.required.length > 0;

function readRequestLine(request: IncomingMessage, requestId: string): Exchange {
  // A proxy's form of the request line begins with the origin.
  const target = (request.url ?? '/').replace(/^https?:\/\/[^/?#]*/i, '') || '/';
  const [path = '', ...query] = target.split('?');
  if (!path.startsWith('/')) throw routeNotFound();
  return {
    request,
    requestId,
    method: request.method ?? 'GET',
    segments: pathSegments(path),
    search: new URLSearchParams(query.join('?')),
    baseUrl: `http://${request.headers.host}`,
  };
}

function failed(parts: HttpParts, error: unknown, request: IncomingMessage, requestId: string): Answer {
  // A client that went away in the middle of its body is nobody's failure here, and nobody reads the answer.
  if (request.destroyed && !request.complete) {
    return errorAnswer(new ServiceError(400, 'invalid_request', 'The connection ended before the body did.'));
  }
  const result = errorAnswer(error);
  if (result.status >= 500) parts.engine.log('error', 'a request failed', { request: requestId, ...errorFields(error) });
  return result;
}

export const addressOf = (request: { socket: { remoteAddress?: string | undefined } }): string =>
  `address ${request.socket.remoteAddress ?? 'unknown'}`;
