/**
 * The lines of --debug: one for each attempt, and one for each of its headers that is known to be harmless. A list of what
 * may be shown cannot forget a header that somebody adds later; secrets are masked by value as well, where stderr is written.
 */
import type { ClientEvent } from '../../client/client.ts';

type Trace = Extract<ClientEvent, { type: 'trace' }>;

const shownRequestHeaders = ['authorization', 'accept', 'content-type', 'content-length', 'user-agent', 'idempotency-key'];
const shownResponseHeaders = [
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
    ...shown('>', requestHeaders, shownRequestHeaders),
    `< ${status ?? reason} (${milliseconds} ms)`,
    ...shown('<', responseHeaders, shownResponseHeaders),
  ];
}

function shown(sign: string, headers: Record<string, string | string[] | undefined>, names: readonly string[]): string[] {
  return names.flatMap((name) => (headers[name] === undefined ? [] : [`${sign} ${name}: ${[headers[name]].flat().join(', ')}`]));
}

/** Values in a query may be anything that was typed; their names say enough. */
function withoutQueryValues(url: string): string {
  const [path = '', query] = url.split('?', 2);
  if (query === undefined) return path;
  return `${path}?${[...new URLSearchParams(query).keys()].map((name) => `${name}=…`).join('&')}`;
}
