/** Teams, their credentials, and the tokens that credentials present. */
import type { Insertable } from 'kysely';
import type { Queries } from './database.ts';
import type { CredentialKind, CredentialsTable, TeamRow, TeamsTable, TokensTable } from './schema.ts';

export async function insertTeam(db: Queries, team: Insertable<TeamsTable>): Promise<void> {
  await db.insertInto('teams').values(team).execute();
}

export async function findTeam(db: Queries, id: string): Promise<TeamRow | undefined> {
  return db.selectFrom('teams').selectAll().where('id', '=', id).executeTakeFirst();
}

export async function insertCredential(db: Queries, credential: Insertable<CredentialsTable>): Promise<void> {
  await db.insertInto('credentials').values(credential).execute();
}

export async function insertToken(db: Queries, token: Insertable<TokensTable>): Promise<void> {
  await db.insertInto('tokens').values(token).execute();
}

/** The oldest credential of a kind that is not revoked. */
export async function firstCredential(db: Queries, kind: CredentialKind): Promise<{ id: string; team_id: string } | undefined> {
  return db
    .selectFrom('credentials')
    .select(['id', 'team_id'])
    .where('kind', '=', kind)
    .where('revoked_at', 'is', null)
    .orderBy('created_at')
    .executeTakeFirst();
}

/** Withdraws every token of a credential. */
export async function deleteTokens(db: Queries, credentialId: string): Promise<void> {
  await db.deleteFrom('tokens').where('credential_id', '=', credentialId).execute();
}

/** A token and the credential it belongs to. */
export interface FoundToken {
  hash: string;
  credentialId: string;
  teamId: string;
  kind: CredentialKind;
  /** Those of the token, or else of its credential; null has full access. */
  scopes: string | null;
}

/** The token of that hash with its credential, unless one of them has expired or is revoked. */
export async function findToken(db: Queries, hash: string, now: number): Promise<FoundToken | undefined> {
  const found = await db
    .selectFrom('tokens')
    .innerJoin('credentials', 'credentials.id', 'tokens.credential_id')
    .select(['tokens.hash', 'tokens.scopes', 'credentials.id', 'credentials.team_id', 'credentials.kind', 'credentials.scopes as all'])
    .where('tokens.hash', '=', hash)
    .where('credentials.revoked_at', 'is', null)
    .where((where) => where.or([where('tokens.expires_at', 'is', null), where('tokens.expires_at', '>', now)]))
    .where((where) => where.or([where('credentials.expires_at', 'is', null), where('credentials.expires_at', '>', now)]))
    .executeTakeFirst();
  if (found === undefined) return undefined;
  return { hash: found.hash, credentialId: found.id, teamId: found.team_id, kind: found.kind, scopes: found.scopes ?? found.all };
}
