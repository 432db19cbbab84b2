/**
 * The stages of every request, in this order: Host and Origin, authentication, rate limit, route, scope, Idempotency-Key,
 * body, earlier responses, validation, handler. No result of the stages before the earlier responses is stored under a key.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { operation } from '../../interface/operations.ts';
import { schemasOf } from '../../interface/schemas.ts';
import { type Engine, inUnit } from '../engine/engine.ts';
import { ServiceError } from '../errors.ts';
import { errorFields } from '../log.ts';
import { requirePermission } from './access.ts';
import { type Answer, errorAnswer, jsonAnswer } from './answer.ts';
import { authenticate, type Caller, rejectedToken } from './authenticate.ts';
import { MediaReply, type RequestContext } from './context.ts';
import type { ServiceApi } from './exchange.ts';
import { addressOf, type Exchange, type HttpParts } from './exchange.ts';
import { answerOnce } from './idempotency/idempotency.ts';
import { idempotencyKey } from './idempotency/idempotency-request.ts';
import type { Lifetime } from './lifetime.ts';
import { callOperation, operationCaller } from './operation-call.ts';
import { requireSoundHeaders } from './origin.ts';
import { isOfSameUser } from './peer-user.ts';
import { type ReceivedBody, receiveBytes, receiveFile, receiveForm } from './received-body.ts';
import { challengeWithMetadata } from './resource-metadata.ts';
import { type Match, pathSegments, routeNotFound } from './router.ts';
import { isFromThisMachine } from './this-machine.ts';

export interface Outcome {
  answer: Answer;
  /** The caller whose rate limit is reported in the response. */
  caller: string;
  /** The operation, or the name of an open route. */
  operation?: string;
}

/**
 * Handles a request from its first header to its answer. Never throws.
 */
export async function handle(parts: HttpParts, request: IncomingMessage, requestId: string, lifetime: Lifetime): Promise<Outcome> {
  const outcome: { caller: string; operation?: string } = { caller: addressOf(parts, request) };
  let exchange: Exchange | undefined;
  try {
    requireSoundHeaders(request);
    const origin = parts.checkOrigin(request);
    exchange = readRequestLine(request, { requestId, lifetime, baseUrl: parts.publicUrl ?? origin });
    const open = parts.api.openRoute(exchange);
    if (open !== undefined) {
      outcome.operation = open.route.name;
      return { ...outcome, ...(await parts.api.openAnswer(parts, exchange, open)) };
    }
    const caller = await admit(parts, request, outcome.caller);
    outcome.caller = caller.credentialId;
    const counting = parts.limiter.take(caller.credentialId);
    if (counting !== undefined) await counting;
    const match = parts.router.match(exchange.method, exchange.segments);
    outcome.operation = match.id;
    requirePermission(caller, match.id);
    return { ...outcome, answer: await answer(parts, exchange, caller, match) };
  } catch (error) {
    return { ...outcome, answer: challenging(failureAnswer(parts, error, request, requestId), exchange) };
  }
}

/** Whether the token of a request is still valid and permits the operation. */
async function isStillAllowed(parts: HttpParts, authorization: string | undefined, { id }: Match): Promise<boolean> {
  try {
    requirePermission(await identify(parts, authorization), id);
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

const identify = ({ tokens, engine }: HttpParts, authorization: string | undefined): Promise<Caller> =>
  authenticate({ tokens, runTokens: engine.runTokens }, authorization, engine.clock.now());

/** A refusal by the MCP endpoint tells clients where to find out how to be authorized. */
function challenging(answer: Answer, exchange: Exchange | undefined): Answer {
  const { 'WWW-Authenticate': challenge, ...headers } = answer.headers;
  if (challenge === undefined || exchange?.segments.join('/') !== 'v2/mcp') return answer;
  return { ...answer, headers: { ...headers, 'WWW-Authenticate': challengeWithMetadata(challenge, exchange.baseUrl, '/v2/mcp') } };
}

/** Authenticates the caller. Attempts without a valid token count against their address. */
async function admit(parts: HttpParts, request: IncomingMessage, address: string): Promise<Caller> {
  try {
    const caller = await identify(parts, request.headers.authorization);
    if (caller.run !== undefined) await requireProcessOfRun(parts, request);
    return caller;
  } catch (error) {
    await parts.limiter.take(address);
    throw error;
  }
}

/**
 * The token of a run is for a process on this machine. Some agents pass it on in arguments, which all users of a machine can read, so
 * it is worth nothing to other users. Throws 401 `invalid_token`.
 */
async function requireProcessOfRun({ publicUrl }: HttpParts, request: IncomingMessage): Promise<void> {
  if (!isFromThisMachine(request, publicUrl) || !(await isOfSameUser(request.socket))) throw rejectedToken();
}

async function answer(parts: HttpParts, exchange: Exchange, caller: Caller, match: Match): Promise<Answer> {
  const key = operation(match.id).idempotent ? idempotencyKey(exchange.request.rawHeaders) : undefined;
  // The journal of the run takes the place of keys.
  if (key !== undefined && caller.run !== undefined)
    throw new ServiceError(400, 'idempotency_key_not_supported', 'The tools of a run do not support the Idempotency-Key header.');
  const body = await receive(parts, exchange, match);
  try {
    return await answerTo(parts, exchange, caller, match, { body, key });
  } finally {
    await body.close();
  }
}

async function receive(
  { engine, limits }: HttpParts,
  { request, method, segments, search }: Exchange,
  { id }: Match,
): Promise<ReceivedBody> {
  const target = operation(id);
  const requestLine = { method, segments, search, contentType: request.headers['content-type'] };
  const milliseconds = limits.bodyMilliseconds;
  if (target.request === undefined) return receiveBytes(request, requestLine, { isEmpty: target.method === 'GET', milliseconds });
  const openDisk = (): ReturnType<typeof engine.sandboxes.openAnonymousFile> => engine.sandboxes.openAnonymousFile();
  if (target.request === 'multipart/form-data') return receiveForm(request, requestLine, { milliseconds, openDisk });
  return receiveFile(request, requestLine, { type: target.request, milliseconds, openDisk });
}

async function answerTo(
  parts: HttpParts,
  exchange: Exchange,
  caller: Caller,
  match: Match,
  { body, key }: { body: ReceivedBody; key: string | undefined },
): Promise<Answer> {
  const { request, requestId } = exchange;
  const execute = async (engine: Engine): Promise<Answer> => {
    const { signer } = parts;
    const context: RequestContext = { engine, signer, ...caller, requestId, baseUrl: exchange.baseUrl, lifetime: exchange.lifetime };
    try {
      const raw = parts.api.rawHandlerOf(match.id);
      if (raw === undefined) return await callHandler(parts.api, context, match, exchange, body);
      const { headers } = request;
      return await raw(context, {
        method: exchange.method,
        params: match.params,
        search: exchange.search,
        headers,
        body: body.bytes,
        hasKey: key !== undefined,
        signal: exchange.lifetime.signal,
        call: operationCaller(parts.api, context),
        isAllowed: () => isStillAllowed(parts, headers.authorization, match),
        streams: parts.streams,
      });
    } catch (error) {
      return failureAnswer(parts, error, request, requestId);
    }
  };
  if (key === undefined) return execute(parts.engine);
  const keyedRequest = { credentialId: caller.credentialId, teamId: caller.teamId, key, fingerprint: body.fingerprint(), requestId };
  return answerOnce(parts.keys, keyedRequest, (unit) => execute(inUnit(parts.engine, unit)));
}

async function callHandler(
  api: ServiceApi,
  context: RequestContext,
  match: Match,
  { method, search }: Exchange,
  receivedBody: ReceivedBody,
): Promise<Answer> {
  const body = schemasOf(match.id).body === undefined ? undefined : receivedBody.value();
  const reply = await callOperation(api, context, match, search, body);
  return reply instanceof MediaReply ? mediaAnswer(reply, method) : jsonAnswer(reply.status, reply.body, reply.headers);
}

/** Text is written with its length; for bytes the headers contain it, if it is known. */
function mediaAnswer({ status, headers, body }: MediaReply<unknown>, method: string): Answer {
  if (!(body instanceof Readable)) return { status, headers, body: typeof body === 'string' ? body : Readable.from([body]) };
  if (method !== 'HEAD') return { status, headers, body };
  // Nothing of it has been read, so nothing is open.
  body.destroy();
  return { status, headers, body: '' };
}

function readRequestLine(request: IncomingMessage, base: Pick<Exchange, 'requestId' | 'baseUrl' | 'lifetime'>): Exchange {
  // In requests to a proxy, the target starts with the origin.
  const url = request.url ?? '/';
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*\/?/i, '/');
  const mark = target.indexOf('?');
  const [path, query] = mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)];
  if (!path.startsWith('/')) throw routeNotFound();
  return {
    ...base,
    request,
    method: request.method ?? 'GET',
    segments: pathSegments(path),
    search: new URLSearchParams(query),
  };
}

function failureAnswer(parts: HttpParts, error: unknown, request: IncomingMessage, requestId: string): Answer {
  // A client that disconnected while sending its body is not a failure of the service, and will not read the answer.
  if (request.destroyed && !request.complete) {
    return errorAnswer(new ServiceError(400, 'invalid_request', 'The connection ended before the body did.'));
  }
  const result = errorAnswer(error);
  if (result.status >= 500) parts.engine.log('error', 'a request failed', { request: requestId, ...errorFields(error) });
  return result;
}
