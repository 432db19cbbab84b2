/** Messages that are refused before the protocol library sees them, with the statuses of the transport's specification. */

import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '../../base/values.ts';

/** A failure in the format of the protocol. */
export const rpcError = (status: number, code: number, message: string, id: string | number | null = null): Response =>
  Response.json({ jsonrpc: '2.0', id, error: { code, message } }, { status });

/** Only this version of the protocol had batches; it is also assumed if no version is specified. */
const versionWithBatches = '2025-03-26';

/** The refusal of a message, or undefined. */
export function refusal(headers: IncomingHttpHeaders, message: unknown, legacy: boolean): Response | undefined {
  const id = idOf(message);
  if (!accepts(headers.accept, 'application/json') || !accepts(headers.accept, 'text/event-stream'))
    return rpcError(406, -32_000, 'Not Acceptable: Accept must name application/json and text/event-stream', id);
  if (message === undefined) return rpcError(400, -32_700, 'Parse error: the body is empty');
  // This service never creates sessions: a client with a session got it from another service, and has to start again.
  if (legacy && headers['mcp-session-id'] !== undefined) return rpcError(404, -32_001, 'Session not found', id);
  const version = headers['mcp-protocol-version'] ?? versionWithBatches;
  if (Array.isArray(message) && version !== versionWithBatches)
    return rpcError(400, -32_600, 'Invalid Request: this version of the protocol has no batches; send one message at a time');
  return undefined;
}

/** The ID for the response: that of a single request, otherwise null. */
function idOf(message: unknown): string | number | null {
  if (!isObject(message) || typeof message.method !== 'string') return null;
  return typeof message.id === 'string' || typeof message.id === 'number' ? message.id : null;
}

/** Whether an Accept header admits a type (RFC 9110, 12.5.1); quality does not matter here, unless it is 0. */
function accepts(header: string | undefined, type: string): boolean {
  const [kind] = type.split('/');
  return (header ?? '').split(',').some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return [type, `${kind}/*`, '*/*'].includes(name) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
