/** Seals and opens the secrets of a connection. */
import type { AuthorizationServerMetadata, OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import { type SecretBox, UnreadableSecretError } from '../secret-box.ts';
import type { ConnectionRow } from '../store/database/schema.ts';
import type { HeaderSet, StoredHeaders } from './headers.ts';

type SealedRow = Pick<ConnectionRow, 'id' | 'headers' | 'secret_headers'>;

/** The headers in their stored form. */
export const sealedHeaders = (box: SecretBox, id: string, { plain, secret }: StoredHeaders) => ({
  headers: JSON.stringify(plain),
  secret_headers: Object.keys(secret).length === 0 ? null : box.seal(JSON.stringify(secret), `${id} headers`),
});

/** The result of an authorization: the registered client, its tokens, and where to get new ones. */
export interface StoredOAuth {
  /** The issuer of the authorization server. */
  server: string;
  metadata: AuthorizationServerMetadata;
  client: OAuthClientInformationMixed;
  /** RFC 8707. */
  resource?: string;
  accessToken: string;
  refreshToken?: string;
  /** In milliseconds; absent if the server did not specify it. */
  expiresAt?: number;
}

export const sealedOAuth = (box: SecretBox, id: string, oauth: StoredOAuth): string => box.seal(JSON.stringify(oauth), `${id} oauth`);

/** @throws UnreadableSecretError */
export const openOAuth = (box: SecretBox, { id, oauth }: Pick<ConnectionRow, 'id' | 'oauth'>): StoredOAuth | undefined =>
  oauth === null ? undefined : (JSON.parse(box.open(oauth, `${id} oauth`)) as StoredOAuth);

/** The headers with their secrets. @throws UnreadableSecretError */
export function openHeaders(box: SecretBox, row: SealedRow): StoredHeaders {
  const secret = row.secret_headers === null ? {} : (JSON.parse(box.open(row.secret_headers, `${row.id} headers`)) as HeaderSet);
  return { plain: JSON.parse(row.headers) as HeaderSet, secret };
}

/** The same, without secrets that can no longer be read. */
export function readableHeaders(box: SecretBox, row: SealedRow): StoredHeaders {
  try {
    return openHeaders(box, row);
  } catch (error) {
    if (!(error instanceof UnreadableSecretError)) throw error;
    return openHeaders(box, { ...row, secret_headers: null });
  }
}
