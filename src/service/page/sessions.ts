/**
 * Signing a browser in to the team page. The owner requests a code; whoever presents it first, in time, gets a session: a
 * token of the owner's credential that is limited to what the page does. Both are rows of the tokens table. A code is hashed with
 * a prefix that contains spaces, which a Bearer token cannot contain, so it opens the page and nothing else.
 */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../../interface/scopes.ts';
import { ServiceError } from '../errors.ts';
import { newSecret, secretHash } from '../secret-hash.ts';
import { insertToken, takeToken } from '../store/access/credentials.ts';
import type { Queries, Store } from '../store/database/database.ts';
import { isoTime } from '../store/database/time.ts';

/** Milliseconds before a code expires. */
export const pageCodeLife = 120_000;
/** Milliseconds that a browser stays signed in. */
export const pageSessionLife = 12 * 3_600_000;

/** What the page can do: read, answer, start runs with files, send messages, and stop runs. It cannot change agents, credentials, or webhooks. */
const pageScopes: readonly Scope[] = ['runs:read', 'runs:write', 'approvals:write', 'files:read', 'sandboxes:write'];

const codeHash = (code: string): string => secretHash(`code of the team page: ${code}`);

/** Creates a single-use code for a credential. @returns the code, and when it expires (milliseconds) */
export async function newPageCode(store: Store, credentialId: string, now: number): Promise<{ code: string; expiresAt: number }> {
  const code = randomBytes(24).toString('base64url');
  const expiresAt = now + pageCodeLife;
  await insert(store, { hash: codeHash(code), credentialId, now, expiresAt });
  return { code, expiresAt };
}

/** Turns a code into a session. Throws 403 `invalid_code` if it is unknown, used, or expired. */
export async function startPageSession(store: Store, code: string, now: number): Promise<{ token: string; expiresAt: number }> {
  const token = newSecret('page');
  const expiresAt = now + pageSessionLife;
  await store.transaction().execute(async (trx) => {
    const takenToken = await takeToken(trx, codeHash(code), now);
    if (takenToken === undefined) {
      throw new ServiceError(403, 'invalid_code', 'This code has already been used or has expired. Get a new one with `aops local open`.');
    }
    await insert(trx, { hash: secretHash(token), credentialId: takenToken.credential_id, now, expiresAt });
  });
  return { token, expiresAt };
}

/** Ends a session: its token is no longer valid. Resolves to whether the session existed. */
export async function endPageSession(store: Store, token: string, now: number): Promise<boolean> {
  if (!isPageToken(token)) return false;
  return (await takeToken(store, secretHash(token), now)) !== undefined;
}

/** Whether a token belongs to a session, judging by its prefix. */
const isPageToken = (token: string): boolean => token.startsWith('aops_page_');

function insert(db: Queries, row: { hash: string; credentialId: string; now: number; expiresAt: number }): Promise<void> {
  return insertToken(db, {
    hash: row.hash,
    credential_id: row.credentialId,
    created_at: isoTime(row.now),
    expires_at: row.expiresAt,
    scopes: pageScopes.join(' '),
  });
}
