/** Errors of the token endpoint in the format of RFC 6749 section 5.2. */
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

/** In addition to Cache-Control, which every response has, responses of the token endpoint contain the older header (section 5.1). */
export const pragma = { Pragma: 'no-cache' };

export function oauthErrorAnswer({ code, message }: OAuthError): Answer {
  const body = { error: code, error_description: message };
  if (code !== 'invalid_client') return jsonAnswer(400, body, pragma);
  return jsonAnswer(401, body, { ...pragma, 'WWW-Authenticate': 'Basic realm="aops", charset="UTF-8"' });
}
