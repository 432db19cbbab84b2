/** Secrets: which ones can be sent in a header, and how much of one may be shown. */
import { AopsError, exitCodes, UsageError } from '../base/errors.ts';

const headerSafe = /^[\x21-\x7e]+$/;

/** Issuers mark the kind of a token with one or two short words: `aops_local_`, `ghp_`, `sk-`. Longer words may be part of the secret. */
const issuerPrefix = /^(?:(?:[A-Za-z]{2,6}_){1,2}|[A-Za-z]{2}-)/;

/**
 * A secret masked for display: `aops_local_abcdef` -> `aops_local_…cdef`. Keeps the issuer's prefix and, unless the rest is
 * short, the last four characters.
 */
export function maskSecret(secret: string): string {
  const prefix = issuerPrefix.exec(secret)?.[0] ?? '';
  const rest = secret.slice(prefix.length);
  return `${prefix}…${rest.length >= (prefix ? 6 : 8) ? rest.slice(-4) : ''}`;
}

/**
 * The trimmed secret, if it can be sent in a header.
 * @throws AopsError `credential_invalid`, exit 4, naming `name` and never echoing the value.
 */
export function checkSecret(secret: string, name: string): string {
  return checkText(secret, headerSafe, `${name} is not a usable credential: it is empty or contains spaces or unprintable characters.`);
}

/** A client ID or secret, trimmed; spaces may be part of it (RFC 6749, appendix A.1). @throws as `checkSecret` */
export function checkClientText(text: string, name: string): string {
  return checkText(text, visibleCharacters, `${name} is not usable: it is empty or contains characters other than visible ASCII.`);
}

const visibleCharacters = /^[\x20-\x7e]+$/;

function checkText(text: string, pattern: RegExp, message: string): string {
  const trimmedText = text.trim();
  if (pattern.test(trimmedText)) return trimmedText;
  throw new AopsError(message, {
    code: 'credential_invalid',
    exit: exitCodes.auth,
    hint: 'Copy the credential again, without quotes or line breaks.',
  });
}

/** RFC 6749, appendix A.4: words of visible ASCII without quotes and backslashes, separated by a space. */
const scopeWords = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/** The scope to request a token for, with single spaces between its words. @throws UsageError naming `name` */
export function checkScope(scope: string, name: string): string {
  const normalizedScope = scope.trim().replace(/\s+/g, ' ');
  if (scopeWords.test(normalizedScope)) return normalizedScope;
  throw new UsageError(
    `${name} is not a valid scope.`,
    'Write words of visible ASCII separated by spaces, such as "runs:read runs:write".',
  );
}
