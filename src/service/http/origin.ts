/** Refuses requests that a web page made a browser send: with another Host (DNS rebinding) or a foreign Origin. */
import { isIP } from 'node:net';
import { ServiceError } from '../errors.ts';

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Addresses of all interfaces: the service then cannot know the names by which it is reached. */
const wildcards = new Set(['0.0.0.0', '::']);

export interface OwnNames {
  scheme: 'http' | 'https';
  /** The address that the service listens on. */
  host: string;
  /** The origin at which others reach it, if it differs from where it listens. */
  publicUrl?: string | undefined;
  /** Additional names to accept in the Host header. */
  names?: readonly string[];
}

/** What a request says about where it was sent. */
export interface RequestAddress {
  /** The request target (RFC 9112 section 3.2). */
  url?: string | undefined;
  headers: { host?: string | undefined; origin?: string | undefined };
}

/**
 * The origin that a request was sent to, such as `http://127.0.0.1:4010`.
 * Throws 400 `invalid_request` for a host that is malformed, 403 `host_not_allowed` or `origin_not_allowed`.
 */
export type OriginCheck = (request: RequestAddress) => string;

interface ParsedHost {
  name: string;
  origin: string;
}

/** A check for a service with these names. A service that listens on all interfaces answers to any name, unless names are configured. */
export function originCheck({ scheme, host, publicUrl, names = [] }: OwnNames): OriginCheck {
  const externalUrl = publicUrl === undefined ? undefined : new URL(publicUrl);
  const otherNames = [...names, ...(externalUrl === undefined ? [] : [externalUrl.hostname])];
  const acceptsAnyName = isWildcard(host) && otherNames.length === 0;
  const ownName = isIP(host) === 6 ? `[${host}]` : host.toLowerCase();
  const allowedHosts = new Set([...loopback, ...(isWildcard(host) ? [] : [ownName]), ...otherNames.map((name) => name.toLowerCase())]);
  // Most clients use one name, and parsing it takes longer than the rest of the check.
  let last: { authority: string; target: ParsedHost | undefined } | undefined;
  const targetOf = (authority: string): ParsedHost | undefined => {
    if (last?.authority !== authority) last = { authority, target: parseHost(scheme, authority) };
    return last.target;
  };
  return ({ url = '', headers }) => {
    const target = targetOf(absoluteAuthority(url) ?? headers.host ?? '');
    if (target === undefined) throw new ServiceError(400, 'invalid_request', 'The host of the request is not valid.');
    if (!acceptsAnyName && !allowedHosts.has(target.name)) {
      throw new ServiceError(
        403,
        'host_not_allowed',
        'This service does not answer to the name in the Host header. Use the URL it was started with.',
      );
    }
    const { origin } = headers;
    // A page at the public address has that origin, however a proxy changes the request.
    const isOwn = origin === externalUrl?.origin || (origin === target.origin && target.name !== externalUrl?.hostname);
    if (origin !== undefined && !isOwn) {
      throw new ServiceError(403, 'origin_not_allowed', 'Requests from web pages of another origin are refused.');
    }
    return target.origin;
  };
}

const isWildcard = (host: string): boolean => wildcards.has(host);

/** The authority of a target in absolute form, which replaces the Host header (RFC 9112 section 3.2.2). */
const absoluteAuthority = (target: string): string | undefined =>
  target.startsWith('/') ? undefined : /^https?:\/\/([^/?#]*)/i.exec(target)?.[1];

/** A host with or without a port (RFC 9110 section 7.2), consisting of characters of names and addresses. */
const hostSyntax = /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{0,5})?$/i;

function parseHost(scheme: string, authority: string): ParsedHost | undefined {
  const text = `${scheme}://${authority}`;
  if (!hostSyntax.test(authority) || !URL.canParse(text)) return undefined;
  const { hostname, origin } = new URL(text);
  return { name: hostname, origin };
}

/**
 * Refuses requests that intermediaries may have interpreted differently: with several Host or Authorization headers, of which node:http
 * uses the first, without a Host header (RFC 9112 section 3.2), or with invalid header names. Throws 400 `invalid_request`.
 */
export function requireSoundHeaders({ rawHeaders }: { rawHeaders: readonly string[] }): void {
  let hosts = 0;
  let authorizations = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    // Node before 20.20 accepts spaces in header names (RFC 9110 section 5.1).
    if (name.includes(' '))
      throw new ServiceError(400, 'invalid_request', 'This is not a valid HTTP request.', { headers: { Connection: 'close' } });
    if (name === 'host') hosts += 1;
    else if (name === 'authorization') authorizations += 1;
  }
  if (hosts !== 1) throw new ServiceError(400, 'invalid_request', 'Send one Host header.');
  if (authorizations > 1) throw new ServiceError(400, 'invalid_request', 'Send one Authorization header.');
}
