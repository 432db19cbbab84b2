/** Service addresses: which ones are accepted, and the normalised form in which they are stored. */
import { UsageError } from '../base/errors.ts';
import { isLoopback } from '../base/loopback.ts';

/**
 * A base URL without a trailing slash: `https://api.example.com`, `http://127.0.0.1:4010/prefix`.
 * A credential travels with every request, so only https is accepted, except on this machine.
 * @param name where the value came from, for the message: `--base-url`.
 * @throws UsageError when it is not a URL, not https, or contains a user name, query or fragment.
 */
export function normaliseBaseUrl(text: string, name: string): string {
  const url = parseUrl(text, name);
  if (url.search || url.hash || /[?#]/.test(text)) {
    throw new UsageError(`${name} must not have a query or a fragment.`, 'Pass the scheme and host, with a path prefix if needed.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** A token endpoint; the same rules, but a query is allowed and the path is left unchanged. */
export function normaliseTokenUrl(text: string, name: string): string {
  return parseUrl(text, name).href;
}

/** The origin a credential is bound to. `baseUrl` must have been normalised. */
export function originOf(baseUrl: string): string {
  return new URL(baseUrl).origin;
}

function parseUrl(text: string, name: string): URL {
  const trimmedText = text.trim();
  if (!/^https?:\/\//i.test(trimmedText) || !URL.canParse(trimmedText)) {
    throw new UsageError(`${name} is not an http(s) URL.`, 'Write it like https://api.example.com or http://127.0.0.1:4010.');
  }
  const url = new URL(trimmedText);
  if (url.username || url.password) {
    throw new UsageError(`${name} must not contain a user name or password.`, 'Credentials are stored separately: run `aops auth login`.');
  }
  if (url.protocol !== 'https:' && !isLoopback(url.hostname)) {
    throw new UsageError(
      `${name} must use https; otherwise the credential would be sent in clear text.`,
      'Plain http is accepted only for this machine.',
    );
  }
  return url;
}
