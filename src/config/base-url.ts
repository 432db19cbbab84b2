/** Service addresses: what is accepted, and the one spelling they are kept in. */
import { UsageError } from '../base/errors.ts';
import { isLoopback } from '../base/loopback.ts';

/**
 * A base URL without a trailing slash: `https://api.example.com`, `http://127.0.0.1:4010/prefix`.
 * A credential travels with every request, so only https is accepted, except on this machine.
 * @param name where the value came from, for the message: `--base-url`.
 * @throws UsageError when it is no URL, not https, or carries a user name, query or fragment.
 */
export function normaliseBaseUrl(text: string, name: string): string {
  const url = parseUrl(text, name);
  if (url.search || url.hash || /[?#]/.test(text)) {
    throw new UsageError(`${name} must not have a query or a fragment.`, 'Give scheme, host and, where needed, a path prefix.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** A token endpoint; the same rules, but a query is allowed and the path is kept as it is. */
export function normaliseTokenUrl(text: string, name: string): string {
  return parseUrl(text, name).href;
}

/** The origin a credential is bound to. `baseUrl` must have been normalised. */
export function originOf(baseUrl: string): string {
  return new URL(baseUrl).origin;
}

function parseUrl(text: string, name: string): URL {
  const trimmed = text.trim();
  if (!/^https?:\/\//i.test(trimmed) || !URL.canParse(trimmed)) {
    throw new UsageError(`${name} is not an http(s) URL.`, 'Write it like https://api.example.com or http://127.0.0.1:4010.');
  }
  const url = new URL(trimmed);
  if (url.username || url.password) {
    throw new UsageError(`${name} must not contain a user name or password.`, 'Credentials are kept apart: run `aops auth login`.');
  }
  if (url.protocol !== 'https:' && !isLoopback(url.hostname)) {
    throw new UsageError(`${name} must use https: the credential would travel in clear text.`, 'Plain http is for this machine only.');
  }
  return url;
}
