/** Forms of the token endpoint: `application/x-www-form-urlencoded` in UTF-8 (RFC 6749 appendix B). */
import type { Buffer } from 'node:buffer';
import { contentEssence } from '../http/body.ts';
import { OAuthError } from './oauth-error.ts';

/** The parameters of a form. One without a value counts as omitted (section 3.2). @throws OAuthError `invalid_request` */
export function parseForm(bytes: Buffer, contentType: string | undefined): Map<string, string> {
  if (contentEssence(contentType) !== 'application/x-www-form-urlencoded') {
    throw new OAuthError('invalid_request', 'The body must be a form, with the header "Content-Type: application/x-www-form-urlencoded".');
  }
  const parameters = new Map<string, string>();
  const names = new Set<string>();
  for (const pair of utf8(bytes).split('&')) {
    if (pair === '') continue;
    const [name = '', ...valueParts] = pair.split('=');
    const [key, value] = [formDecode(name), formDecode(valueParts.join('='))];
    if (names.has(key)) throw new OAuthError('invalid_request', 'A parameter appears more than once.');
    names.add(key);
    if (value !== '') parameters.set(key, value);
  }
  return parameters;
}

/** A name or value of a form. @throws OAuthError `invalid_request` for an invalid escape, or bytes that are not UTF-8 */
export function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new OAuthError('invalid_request', 'A percent escape is invalid.');
  }
}

/** @throws OAuthError `invalid_request` */
export function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new OAuthError('invalid_request', 'The text is not UTF-8.');
  }
}
