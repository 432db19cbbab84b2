/**
 * POST /v2/mcp: one message of the Model Context Protocol, and its response. Both eras are supported without a session:
 * that of 2026-07-28, and the previous one, which begins with `initialize`. The response is JSON; it is a stream of events
 * only when the client requests progress without an Idempotency-Key, or subscribes to changes.
 */

import { Readable } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { isObject } from '../../base/values.ts';
import { ServiceError } from '../errors.ts';
import type { Answer } from '../http/answer.ts';
import { parseJson } from '../http/body.ts';
import type { RawRequest, RequestContext } from '../http/context.ts';
import { errorFields } from '../log.ts';
import { refusal, rpcError } from './refusals.ts';
import { serverFor } from './server.ts';

/** The response to a message. Rejects when the service itself fails, because such a response must not be stored. */
export async function answerMessage(context: RequestContext, request: RawRequest): Promise<Answer> {
  if (!isJsonContentType(request.headers['content-type'] ?? null))
    return toAnswer(rpcError(415, -32_000, 'Unsupported Media Type: Content-Type must be application/json'));
  let message: unknown;
  try {
    message = parseJson(request.body, 'application/json');
  } catch (error) {
    if (error instanceof ServiceError) return toAnswer(rpcError(400, -32_700, `Parse error: ${error.message}`));
    throw error;
  }
  const web = webRequest(context, request);
  const legacy = message === undefined || (await isLegacyRequest(web, message));
  const refusalResponse = refusal(request.headers, message, legacy);
  if (refusalResponse !== undefined) return toAnswer(refusalResponse);
  let failure: unknown;
  const server = serverFor(context, request, (error) => {
    failure = error;
    context.engine.log('error', 'a tool failed', { request: context.requestId, ...errorFields(error) });
  });
  // Nothing that an agent has opened outlives its run.
  const signal = context.run === undefined ? request.signal : AbortSignal.any([request.signal, context.run.signal]);
  const response = await (legacy ? answerLegacy(server, web, message, request.hasKey) : answerModern(server, web, message, signal));
  if (failure !== undefined) throw failure;
  return toAnswer(response);
}

/** The era that begins with `initialize`; each request is independent. */
async function answerLegacy(server: Server, web: Request, message: unknown, hasKey: boolean): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: hasKey || !wantsProgress(message) });
  await server.connect(transport);
  return transport.handleRequest(web, { parsedBody: message });
}

/** The era of 2026-07-28. */
async function answerModern(server: Server, web: Request, message: unknown, signal: AbortSignal): Promise<Response> {
  const handler = createMcpHandler(() => server, { legacy: 'reject' });
  // Ends a subscription, which would otherwise never end. A call ends by itself, because its tool has the signal.
  signal.addEventListener('abort', () => void handler.close(), { once: true });
  return handler.fetch(web, { parsedBody: message });
}

function wantsProgress(message: unknown): boolean {
  const params = isObject(message) ? message.params : undefined;
  const meta = isObject(params) ? params._meta : undefined;
  return isObject(meta) && meta.progressToken !== undefined;
}

/** The request in the form of the protocol library: only its headers, because the body has already been read. */
function webRequest({ baseUrl }: RequestContext, { headers }: RawRequest): Request {
  const headerPairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    name.startsWith('mcp-') || name === 'content-type' ? [[name, String(value)]] : [],
  );
  // Accept was checked before, including wildcards; the library only accepts the two literal types.
  return new Request(`${baseUrl}/v2/mcp`, {
    method: 'POST',
    headers: [...headerPairs, ['accept', 'application/json, text/event-stream']],
  });
}

async function toAnswer(response: Response): Promise<Answer> {
  const type = response.headers.get('content-type');
  const headers = {
    ...(type === null ? {} : { 'Content-Type': type }),
    ...(response.headers.has('allow') ? { Allow: response.headers.get('allow') as string } : {}),
  };
  if (response.body === null || !type?.startsWith('text/event-stream'))
    return { status: response.status, headers, body: await response.text() };
  return {
    status: response.status,
    // Intermediaries must not delay events.
    headers: { ...headers, 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no' },
    body: Readable.fromWeb(response.body as NodeReadableStream),
  };
}
