/** The URLs that the service signs for one file. They carry no credential of ours, and may lead to another origin. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';

/**
 * A signed URL, given relative to the service or absolute. What is sent there is as private as what is sent to the
 * service, so it is https, unless the service itself is reached without.
 * @throws AopsError `unsafe_url`
 */
export function signedUrl(baseUrl: string, given: string): URL {
  const base = new URL(baseUrl);
  const url = URL.canParse(given, baseUrl) ? new URL(given, baseUrl) : undefined;
  if (url && url.username === '' && url.password === '') {
    if (url.protocol === 'https:' || url.origin === base.origin) return url;
    if (url.protocol === 'http:' && isLoopback(base.hostname) && isLoopback(url.hostname)) return url;
  }
  throw new AopsError(
    `The service gives ${url ? `a URL at ${url.protocol}//${url.host}` : 'no URL'} for the file, which is not safe to use.`,
    {
      code: 'unsafe_url',
      exit: exitCodes.failure,
      hint: 'Files are exchanged over https only. Tell the operator of the service.',
    },
  );
}

/** The path of a signed URL for messages: a long part of it may be what makes it valid. */
export const shownPath = ({ pathname }: URL): string =>
  pathname
    .split('/')
    .map((part) => (part.length > 40 ? '...' : part))
    .join('/');
