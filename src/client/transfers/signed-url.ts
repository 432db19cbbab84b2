/** The URLs that the service signs for one file. Requests to them carry no credential, and they may lead to another origin. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import { isLoopback } from '../../base/loopback.ts';

/**
 * A signed URL, which may be absolute or relative to the service. Its content is as private as requests to the service, so
 * https is required unless the service itself is reached without it.
 * @throws AopsError `unsafe_url`
 */
export function signedUrl(baseUrl: string, text: string): URL {
  const base = new URL(baseUrl);
  const url = URL.canParse(text, baseUrl) ? new URL(text, baseUrl) : undefined;
  if (url && url.username === '' && url.password === '') {
    if (url.protocol === 'https:' || url.origin === base.origin) return url;
    if (url.protocol === 'http:' && isLoopback(base.hostname) && isLoopback(url.hostname)) return url;
  }
  throw new AopsError(
    url
      ? `The service returned a URL at ${url.protocol}//${url.host} for the file, which is not safe to use.`
      : 'The service returned an invalid URL for the file.',
    {
      code: 'unsafe_url',
      exit: exitCodes.failure,
      hint: 'Files are transferred over https only. Contact the operator of the service.',
    },
  );
}

/** The path of a signed URL for messages, without long parts: they may be the signature. */
export const printablePath = ({ pathname }: URL): string =>
  pathname
    .split('/')
    .map((part) => (part.length > 40 ? '...' : part))
    .join('/');
