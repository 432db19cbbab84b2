/** What is kept of a connection that is secret, sealed and opened. */
import type { AuthorizationServerMetadata, OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import { type SecretBox, UnreadableSecretError } from '../secret-box.ts';
import type { ConnectionRow } from '../store/database/schema.ts';
import type { HeaderSet, StoredHeaders } from './headers.ts';

type Kept = Pick<ConnectionRow, 'id' | 'headers' | 'secret_headers'>;

/** The headers as they are stored. */
export const sealedHeaders = (box: SecretBox, id: string, { plain, secret }: StoredHeaders) => ({
  headers: JSON.stringify(plain),
  secret_headers: Object.keys(secret).length === 0 ? null : box.seal(JSON.stringify(secret), `${id} headers`),
});

/** What an authorization left: the client that was registered, its tokens, and where new ones come from. */
export interface StoredOAuth {
  /** Of the authorization server. */
  server: string;
  metadata: AuthorizationServerMetadata;
  client: OAuthClientInformationMixed;
  /** RFC 8707. */
  resource?: string;
  accessToken: string;
  refreshToken?: string;
  /** Milliseconds; absent when the server did not say. */
  expiresAt?: number;
}

export const sealedOAuth = (box: SecretBox, id: string, oauth: StoredOAuth): string => box.seal(JSON.stringify(oauth), `${id} oauth`);

/** @throws UnreadableSecretError */
export const openOAuth = (box: SecretBox, { id, oauth }: Pick<ConnectionRow, 'id' | 'oauth'>): StoredOAuth | undefined =>
  oauth === null ? undefined : (JSON.parse(box.open(oauth, `${id} oauth`)) as StoredOAuth);

/** The headers with their secrets. @throws UnreadableSecretError */
export function openHeaders(box: SecretBox, row: Kept): StoredHeaders {
  const secret = row.secret_headers === null ? {} : (JSON.parse(box.open(row.secret_headers, `${row.id} headers`)) as HeaderSet);
  return { plain: JSON.parse(row.headers) as HeaderSet, secret };
}

/** The same, without secrets that cannot be read any more. */
export function keptHeaders(box: SecretBox, row: Kept): StoredHeaders {
  try {
    return openHeaders(box, row);
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    return openHeaders(box, { ...row, secret_headers: null });
  }
}
