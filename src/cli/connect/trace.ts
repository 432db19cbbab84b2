/**
 * The lines of --debug: one for each attempt, and one for each of its headers that is known to be harmless. An allow list stays
 * safe when headers are added later; in addition, secrets are redacted by value wherever stderr is written.
 */
import type { ClientEvent } from '../../client/client.ts';

type Trace = Extract<ClientEvent, { type: 'trace' }>;

const visibleRequestHeaders = ['authorization', 'accept', 'content-type', 'content-length', 'user-agent', 'idempotency-key'];
const visibleResponseHeaders = [
  'content-type',
  'content-length',
  'date',
  'etag',
  'idempotency-replayed',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'retry-after',
  'x-original-request-id',
  'x-request-id',
];

export function traceLines(trace: Trace): string[] {
  const { method, url, requestHeaders = {}, responseHeaders = {}, status, reason, milliseconds } = trace;
  return [
    `> ${method} ${withoutQueryValues(url)}`,
    ...headerLines('>', requestHeaders, visibleRequestHeaders),
    `< ${status ?? reason} (${milliseconds} ms)`,
    ...headerLines('<', responseHeaders, visibleResponseHeaders),
  ];
}

function headerLines(sign: string, headers: Record<string, string | string[] | undefined>, names: readonly string[]): string[] {
  return names.flatMap((name) => (headers[name] === undefined ? [] : [`${sign} ${name}: ${[headers[name]].flat().join(', ')}`]));
}

/** Values in a query may contain anything the user typed; their names are enough. */
function withoutQueryValues(url: string): string {
  const [path = '', query] = url.split('?', 2);
  if (query === undefined) return path;
  return `${path}?${[...new URLSearchParams(query).keys()].map((name) => `${name}=…`).join('&')}`;
}
