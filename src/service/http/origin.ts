/** Refuses requests that a web page made a browser send: another Host (DNS rebinding), or a foreign Origin. */
import { isIP } from 'node:net';
import { ServiceError } from '../errors.ts';

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Listening on every interface, the service cannot know by which names it is reached. */
const wildcards = new Set(['0.0.0.0', '::']);

/** Throws 403 `host_not_allowed` or `origin_not_allowed`. */
export type OriginCheck = (headers: { host?: string | undefined; origin?: string | undefined }) => void;

/** Hosts whose look-up is kept, so that each request need not be taken apart anew. */
const keptHosts = 100;

/**
 * A check for a service that listens on `host`, and is reached by the names of `others`, too. On every interface it answers to
 * any name, unless some are given.
 */
export function originCheck(host: string, others: readonly string[] = []): OriginCheck {
  const any = isWildcard(host) && others.length === 0;
  const own = isIP(host) === 6 ? `[${host}]` : host.toLowerCase();
  const names = new Set([...loopback, ...(isWildcard(host) ? [] : [own]), ...others.map((name) => name.toLowerCase())]);
  const isAllowed = (name: string): boolean => any || names.has(name);
  const known = new Map<string, string | undefined>();
  const nameOf = (hostHeader: string): string | undefined => {
    if (!known.has(hostHeader)) {
      if (known.size >= keptHosts) known.clear();
      known.set(hostHeader, hostnameOf(`http://${hostHeader}`));
    }
    return known.get(hostHeader);
  };
  return ({ host: hostHeader, origin }) => {
    const name = nameOf(hostHeader ?? '');
    if (name === undefined || !isAllowed(name)) {
      throw new ServiceError(
        403,
        'host_not_allowed',
        'This service does not answer to the name in the Host header; use the URL it was started with.',
      );
    }
    if (origin === undefined) return;
    const from = hostnameOf(origin);
    if (from === undefined || !(any ? from === name : isAllowed(from))) {
      throw new ServiceError(403, 'origin_not_allowed', 'Requests of web pages of another origin are refused.');
    }
  };
}

/** Whether an address is reached from this machine alone. */
export const isLoopback = (host: string): boolean => loopback.has(isIP(host) === 6 ? `[${host}]` : host) || host.startsWith('127.');

const isWildcard = (host: string): boolean => wildcards.has(host);

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

function hostnameOf(url: string): string | undefined {
  try {
    return new URL(url).hostname || undefined;
  } catch {
    return undefined;
  }
}
