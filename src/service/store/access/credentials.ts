/** Credentials and their tokens. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import type { CredentialKind, CredentialRow, CredentialsTable, TokenRow, TokensTable } from '../database/schema.ts';

export async function insertCredential(db: Queries, credential: Insertable<CredentialsTable>): Promise<CredentialRow> {
  return db.insertInto('credentials').values(credential).returningAll().executeTakeFirstOrThrow();
}

export async function insertToken(db: Queries, token: Insertable<TokensTable>): Promise<void> {
  await db.insertInto('tokens').values(token).execute();
}

/** The oldest credential of a kind, excluding revoked ones. */
export async function firstCredential(db: Queries, kind: CredentialKind): Promise<{ id: string; team_id: string } | undefined> {
  return db
    .selectFrom('credentials')
    .select(['id', 'team_id'])
    .where('kind', '=', kind)
    .where('revoked_at', 'is', null)
    .orderBy('created_at')
    .executeTakeFirst();
}

export async function deleteToken(db: Queries, hash: string): Promise<void> {
  await db.deleteFrom('tokens').where('hash', '=', hash).execute();
}

/** Removes all tokens of a credential. */
export async function deleteTokens(db: Queries, credentialId: string): Promise<void> {
  await db.deleteFrom('tokens').where('credential_id', '=', credentialId).execute();
}

/** Removes and returns a token; undefined if it does not exist or has expired. Only one of several callers gets it. */
export async function takeToken(db: Queries, hash: string, now: number): Promise<TokenRow | undefined> {
  return db.deleteFrom('tokens').where('hash', '=', hash).where('expires_at', '>', now).returningAll().executeTakeFirst();
}

/** A credential that has not been revoked; it may have expired. */
export async function findCredential(db: Queries, kind: CredentialKind, id: string): Promise<CredentialRow | undefined> {
  return activeCredentials(db, kind).selectAll().where('id', '=', id).executeTakeFirst();
}

/** The credentials of a kind, newest first, excluding revoked ones. */
export async function listCredentialRows(
  db: Queries,
  filter: { kind: CredentialKind; teamId: string | undefined; limit: number; offset: number },
): Promise<{ rows: CredentialRow[]; total: number }> {
  const { kind, teamId, limit, offset } = filter;
  const query = teamId === undefined ? activeCredentials(db, kind) : activeCredentials(db, kind).where('team_id', '=', teamId);
  const rows = await query.selectAll().orderBy('created_at', 'desc').orderBy('id').limit(limit).offset(offset).execute();
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}

/** Revokes a credential and all its tokens. Resolves to false if it had been revoked already. Call it in a transaction. */
export async function revokeCredential(db: Queries, kind: CredentialKind, id: string, now: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('credentials')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('kind', '=', kind)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await deleteTokens(db, id);
  return true;
}

/** Revokes all credentials of a team. Call it in a transaction. */
export async function revokeTeamCredentials(db: Queries, teamId: string, now: string): Promise<void> {
  await db.updateTable('credentials').set({ revoked_at: now }).where('team_id', '=', teamId).where('revoked_at', 'is', null).execute();
  await db
    .deleteFrom('tokens')
    .where('credential_id', 'in', (from) => from.selectFrom('credentials').select('id').where('team_id', '=', teamId))
    .execute();
}

/** Removes expired tokens. */
export async function forgetExpiredTokens(db: Queries, now: number): Promise<void> {
  await db.deleteFrom('tokens').where('expires_at', '<=', now).execute();
}

const activeCredentials = (db: Queries, kind: CredentialKind) =>
  db.selectFrom('credentials').where('kind', '=', kind).where('revoked_at', 'is', null);

/** A token and the credential it belongs to. */
export interface TokenRecord {
  hash: string;
  credentialId: string;
  teamId: string;
  kind: CredentialKind;
  /** The scopes of the token, or else of its credential; null means full access. */
  scopes: string | null;
  /** Milliseconds; when the token or the credential expires, whichever comes first. */
  expiresAt: number | null;
}

const byHash = preparedQuery((db, { hash, now }: { hash: string; now: number }) =>
  db
    .selectFrom('tokens')
    .innerJoin('credentials', 'credentials.id', 'tokens.credential_id')
    .select(['tokens.hash', 'tokens.scopes', 'tokens.expires_at', 'credentials.id', 'credentials.team_id', 'credentials.kind'])
    .select(['credentials.scopes as all', 'credentials.expires_at as ends_at'])
    .where('tokens.hash', '=', hash)
    .where('credentials.revoked_at', 'is', null)
    .where((where) => where.or([where('tokens.expires_at', 'is', null), where('tokens.expires_at', '>', now)]))
    .where((where) => where.or([where('credentials.expires_at', 'is', null), where('credentials.expires_at', '>', now)])),
);

/** The token with this hash and its credential, unless one of them has expired or was revoked. */
export async function findToken(db: Queries, hash: string, now: number): Promise<TokenRecord | undefined> {
  const row = await byHash.first(db, { hash, now });
  if (row === undefined) return undefined;
  const ends = [row.expires_at, row.ends_at].filter((end) => end !== null).map(Number);
  return {
    hash: row.hash,
    credentialId: row.id,
    teamId: row.team_id,
    kind: row.kind,
    scopes: row.scopes ?? row.all,
    expiresAt: ends.length === 0 ? null : Math.min(...ends),
  };
}
