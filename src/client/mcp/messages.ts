/** Messages, headers and requests of the Model Context Protocol, in the form that each of its eras requires. Pure. */
import { isObject } from '../../base/values.ts';
import { operation } from '../../interface/operations.ts';
import type { RpcMessage } from '../json-rpc.ts';
import type { ServiceRequest } from '../request.ts';

const modernVersion = '2026-07-28';
const versionKey = 'io.modelcontextprotocol/protocolVersion';

/** A request with the client's identity, protocol version and capabilities: in the modern era every request contains them. */
export function modernMessage<Message extends RpcMessage>(message: Message, identity: { name: string; version: string }): Message {
  const meta = {
    ...(isObject(message.params?._meta) ? message.params._meta : {}),
    [versionKey]: modernVersion,
    'io.modelcontextprotocol/clientInfo': identity,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { ...message, params: { ...message.params, _meta: meta } };
}

/** The headers that repeat parts of a message of the modern era; empty for a message of the legacy era. */
export function modernHeaders({ method, params }: RpcMessage): Record<string, string> {
  const meta = params?._meta;
  const version = isObject(meta) ? meta[versionKey] : undefined;
  if (typeof version !== 'string') return {};
  const name = params?.name ?? params?.uri;
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': headerValue(name) } : {}),
  };
}

export const legacyHeaders = ({ version, session }: { version: string; session: string | undefined }): Record<string, string> => ({
  'mcp-protocol-version': version,
  ...(session === undefined ? {} : { 'mcp-session-id': session }),
});

/** A value that a header can contain: anything but plain ASCII is encoded as Base64 between marks. */
const headerValue = (text: string): string =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?')
    ? text
    : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`;

/** A tool may take longer than an operation of the interface. */
const attemptMilliseconds = 120_000;

/** The request that carries a message. */
export function postRequest(body: string | Uint8Array, headers: Record<string, string>, mutates: boolean): ServiceRequest {
  const { method, path } = operation('callMcp');
  const contentHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return { method, path, headers: { ...contentHeaders, ...headers }, body, mutates, attemptMilliseconds };
}
