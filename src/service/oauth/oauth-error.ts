/** Refusals of the token endpoint, as RFC 6749 section 5.2 writes them. */
import { type Answer, jsonAnswer } from '../http/answer.ts';

export type OAuthErrorCode = 'invalid_request' | 'invalid_client' | 'unsupported_grant_type' | 'invalid_scope';

export class OAuthError extends Error {
  readonly code: OAuthErrorCode;

  constructor(code: OAuthErrorCode, description: string) {
    super(description);
    this.name = 'OAuthError';
    this.code = code;
  }
}

/** No answer of the token endpoint may be kept by a cache (section 5.1). */
export const noStore = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };

export function oauthErrorAnswer({ code, message }: OAuthError): Answer {
  const body = { error: code, error_description: message };
  if (code !== 'invalid_client') return jsonAnswer(400, body, noStore);
  return jsonAnswer(401, body, { ...noStore, 'WWW-Authenticate': 'Basic realm="aops", charset="UTF-8"' });
}
