/** Builds the request for an operation of the contract and its input: URL, headers and body. */
import { UsageError } from '../base/errors.ts';
import { type OperationId, operation } from '../interface/operations.ts';
import type { Input } from '../interface/types.ts';
import type { MediaSink } from './exchange.ts';

/** A request before it is authorised. Bodies are complete, so that every attempt sends the same bytes. */
export interface ServiceRequest {
  method: string;
  /** Path and query below the base URL. */
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** Whether it may change something; such a request carries an idempotency key. */
  mutates: boolean;
  /** Time limit of one attempt in milliseconds, if the default is too short. */
  attemptMilliseconds?: number;
  /** Whether only the status of the response matters: its body is ignored. */
  statusOnly?: true;
  /** Receives the body of a success response that is not JSON. */
  media?: MediaSink;
  /** Receives the messages of a response that is an event stream; returns true for the final one. */
  onMessage?: (data: string) => boolean;
}

type QueryValues = Record<string, string | number | boolean | undefined | null>;

/**
 * Fills a path template, encoding each segment. Empty IDs, `.` and `..` are rejected: URL parsing would
 * silently turn them into another path.
 * @param rest whether the last parameter is the rest of the path, in which slashes are kept
 */
export function fillPath(template: string, params: Record<string, string>, rest = false): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? '';
    const parts = rest && template.endsWith(`{${name}}`) ? value.split('/') : [value];
    return parts.map((part) => segmentOf(part, name)).join('/');
  });
}

function segmentOf(value: string, name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (value === '' || value === '.' || value === '..' || /[\u0000-\u001f\u007f]/.test(value)) {
    throw new UsageError(`"${value}" is not a valid ID (${name}).`, 'Pass an ID as the list commands show it.');
  }
  return encodeURIComponent(value);
}

/** `?a=1&b=2` without parameters that are undefined or null; empty when there are no others. */
export function queryString(query: QueryValues = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== null) search.append(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

/** The request of an operation. */
export function operationRequest<Id extends OperationId>(id: Id, input: Input<Id>): ServiceRequest {
  const { method, path, idempotent, rest } = operation(id);
  const { params, query, body } = input as { params?: Record<string, string>; query?: QueryValues; body?: unknown };
  const request: ServiceRequest = {
    method,
    path: fillPath(path, params ?? {}, rest) + queryString(query),
    headers: {},
    mutates: idempotent,
  };
  if (body !== undefined) {
    request.headers['content-type'] = 'application/json';
    request.body = JSON.stringify(body);
  }
  return request;
}
