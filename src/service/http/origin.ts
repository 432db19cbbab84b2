/** Refuses requests that a web page made a browser send: another Host (DNS rebinding), or a foreign Origin. */
import { isIP } from 'node:net';
import { ServiceError } from '../errors.ts';

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Listening on every interface, the service cannot know by which names it is reached. */
const wildcards = new Set(['0.0.0.0', '::']);

export interface OwnNames {
  scheme: 'http' | 'https';
  /** The address that the service listens on. */
  host: string;
  /** Where others reach it, when it is not where it listens: an origin. */
  publicUrl?: string | undefined;
  /** Further names in the Host header that it answers to. */
  names?: readonly string[];
}

/** What a request says about where it was sent. */
export interface Addressed {
  /** The request target (RFC 9112 section 3.2). */
  url?: string | undefined;
  headers: { host?: string | undefined; origin?: string | undefined };
}

/**
 * The origin that a request was sent to, such as `http://127.0.0.1:4010`.
 * Throws 400 `invalid_request` for a host that is malformed, 403 `host_not_allowed` or `origin_not_allowed`.
 */
export type OriginCheck = (request: Addressed) => string;

/** Hosts that are remembered, so that they need not be parsed for each request. */
const keptHosts = 100;

interface ParsedHost {
  name: string;
  origin: string;
}

/** A check for a service of these names. On every interface it answers to any name, unless some are given. */
export function originCheck({ scheme, host, publicUrl, names = [] }: OwnNames): OriginCheck {
  const outside = publicUrl === undefined ? undefined : new URL(publicUrl);
  const others = [...names, ...(outside === undefined ? [] : [outside.hostname])];
  const any = isWildcard(host) && others.length === 0;
  const own = isIP(host) === 6 ? `[${host}]` : host.toLowerCase();
  const allowed = new Set([...loopback, ...(isWildcard(host) ? [] : [own]), ...others.map((name) => name.toLowerCase())]);
  const known = new Map<string, ParsedHost | undefined>();
  const parsed = (authority: string): ParsedHost | undefined => {
    if (!known.has(authority)) {
      if (known.size >= keptHosts) known.clear();
      known.set(authority, parseHost(scheme, authority));
    }
    return known.get(authority);
  };
  return ({ url = '', headers }) => {
    const target = parsed(absoluteAuthority(url) ?? headers.host ?? '');
    if (target === undefined) throw new ServiceError(400, 'invalid_request', 'The host of the request is not valid.');
    if (!any && !allowed.has(target.name)) {
      throw new ServiceError(
        403,
        'host_not_allowed',
        'This service does not answer to the name in the Host header; use the URL it was started with.',
      );
    }
    const { origin } = headers;
    // A page at the public address has that origin, whatever the proxy makes of the request on its way.
    const isOwn = origin === outside?.origin || (origin === target.origin && target.name !== outside?.hostname);
    if (origin !== undefined && !isOwn) {
      throw new ServiceError(403, 'origin_not_allowed', 'Requests from web pages of another origin are refused.');
    }
    return target.origin;
  };
}

const isWildcard = (host: string): boolean => wildcards.has(host);

/** The authority of a target in absolute form, which counts instead of the Host header (RFC 9112 section 3.2.2). */
const absoluteAuthority = (target: string): string | undefined =>
  target.startsWith('/') ? undefined : /^https?:\/\/([^/?#]*)/i.exec(target)?.[1];

/** A host with or without a port (RFC 9110 section 7.2), of the characters that occur in names and addresses. */
const hostSyntax = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?$/i;

function parseHost(scheme: string, authority: string): ParsedHost | undefined {
  const text = `${scheme}://${authority}`;
  if (!hostSyntax.test(authority) || !URL.canParse(text)) return undefined;
  const { hostname, origin } = new URL(text);
  return { name: hostname, origin };
}

/**
 * Refuses what others on the way may have read otherwise: several Host or Authorization headers, of which node:http takes the
 * first, a request without a Host (RFC 9112 section 3.2), and names of headers that are none. Throws 400 `invalid_request`.
 */
export function requireSoundHeaders({ rawHeaders }: { rawHeaders: readonly string[] }): void {
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    // Node before 20.20 lets spaces in a name pass (RFC 9110 section 5.1).
    if (name.includes(' '))
      throw new ServiceError(400, 'invalid_request', 'This is not a valid HTTP request.', { headers: { Connection: 'close' } });
    // The length first: every request passes here.
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1;
  }
  if (hosts !== 1) throw new ServiceError(400, 'invalid_request', 'Send one Host header.');
  if (authorizations > 1) throw new ServiceError(400, 'invalid_request', 'Send one Authorization header.');
}
