/** Who calls, with which tokens, and what was answered under an idempotency key. */
import type { Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

/** Who calls: a key or an OAuth client. Rate limits and idempotency keys belong to it, whatever token it presents. */
export interface CredentialsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  kind: Fixed<CredentialKind>;
  name: string;
  created_at: Fixed<string>;
  revoked_at: string | null;
  /** Words separated by spaces, as OAuth writes them; null has full access. */
  scopes: Fixed<string | null>;
  /** SHA-256 of the secret of an OAuth client. */
  secret_hash: Fixed<string | null>;
  /** Milliseconds; null never expires. */
  expires_at: Fixed<number | null>;
}

/** Bearer tokens, by their SHA-256; the tokens themselves are never stored here. */
export interface TokensTable {
  hash: Fixed<string>;
  credential_id: Fixed<string>;
  created_at: Fixed<string>;
  /** Milliseconds; null lives as long as its credential. */
  expires_at: Fixed<number | null>;
  /** What the token was narrowed to when it was fetched; null allows what its credential does. */
  scopes: Fixed<string | null>;
}

export interface IdempotencyKeysTable {
  credential_id: Fixed<string>;
  key: Fixed<string>;
  fingerprint: Fixed<string>;
  status: Fixed<number>;
  content_type: Fixed<string>;
  location: Fixed<string | null>;
  body: Fixed<string>;
  request_id: Fixed<string>;
  expires_at: Fixed<number>;
  /** Length of the body. */
  size: Fixed<number>;
}

/** `local` is the owner of the data directory, `api_key` has one token for life, `oauth_client` fetches short ones. */
export type CredentialKind = 'local' | 'api_key' | 'oauth_client';

export interface AccessTables {
  credentials: CredentialsTable;
  tokens: TokensTable;
  idempotency_keys: IdempotencyKeysTable;
}

export type CredentialRow = Selectable<CredentialsTable>;
export type TokenRow = Selectable<TokensTable>;
