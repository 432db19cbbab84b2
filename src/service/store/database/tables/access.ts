/** Credentials, their tokens, and the answers that were stored under idempotency keys. */
import type { Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

/** A caller: an API key or an OAuth client. Rate limits and idempotency keys belong to it, whichever token it uses. */
export interface CredentialsTable {
  id: Fixed<string>;
  team_id: Fixed<string>;
  kind: Fixed<CredentialKind>;
  name: string;
  created_at: Fixed<string>;
  revoked_at: string | null;
  /** Separated by spaces, as in OAuth; null means full access. */
  scopes: Fixed<string | null>;
  /** SHA-256 of the secret of an OAuth client. */
  secret_hash: Fixed<string | null>;
  /** Milliseconds; null means that it never expires. */
  expires_at: Fixed<number | null>;
}

/** Bearer tokens by their SHA-256; the tokens themselves are never stored. */
export interface TokensTable {
  hash: Fixed<string>;
  credential_id: Fixed<string>;
  created_at: Fixed<string>;
  /** Milliseconds; null means that it expires with its credential. */
  expires_at: Fixed<number | null>;
  /** The scopes that were requested for the token; null means those of its credential. */
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

/** How many requests a caller has made in a window, for all nodes together. Only Postgres has this table. */
export interface RateWindowsTable {
  /** Of the limit. */
  name: string;
  caller: string;
  /** Milliseconds. */
  ends_at: number;
  taken: number;
}

/** `local` is the owner of the data directory, `api_key` has one permanent token, `oauth_client` requests short-lived ones. */
export type CredentialKind = 'local' | 'api_key' | 'oauth_client';

export interface AccessTables {
  credentials: CredentialsTable;
  tokens: TokensTable;
  idempotency_keys: IdempotencyKeysTable;
  rate_windows: RateWindowsTable;
}

export type CredentialRow = Selectable<CredentialsTable>;
export type TokenRow = Selectable<TokensTable>;
