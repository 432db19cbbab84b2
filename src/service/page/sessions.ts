/**
 * Signing a browser in to the team page. The owner has a code made; whoever presents it first, in time, gets a session: a
 * token of the owner's credential that is limited to what the page does. Both are rows among the tokens. A code is hashed with
 * words before it that hold spaces, which no Bearer token does: it opens the page and nothing else.
 */
import { randomBytes } from 'node:crypto';
import type { Scope } from '../../interface/scopes.ts';
import { ServiceError } from '../errors.ts';
import { newSecret, secretHash } from '../secret-hash.ts';
import { forgetExpiredTokens, insertToken, takeToken } from '../store/access/credentials.ts';
import type { Queries, Store } from '../store/database/database.ts';
import { isoTime } from '../store/database/time.ts';

/** Milliseconds in which a code has to be used. */
export const pageCodeLife = 120_000;
/** Milliseconds that a browser stays signed in. */
export const pageSessionLife = 12 * 3_600_000;

/** What the page does: look, answer, post, stop. Not: change agents, credentials, webhooks. */
const pageScopes: readonly Scope[] = ['runs:read', 'runs:write', 'approvals:write', 'files:read'];

const codeHash = (code: string): string => secretHash(`code of the team page: ${code}`);

/** Makes a code that stands for a credential once. @returns the code, and when it ends (milliseconds) */
export async function newPageCode(store: Store, credentialId: string, now: number): Promise<{ code: string; expiresAt: number }> {
  const code = randomBytes(24).toString('base64url');
  const expiresAt = now + pageCodeLife;
  await store.transaction().execute(async (trx) => {
    await forgetExpiredTokens(trx, now);
    await insert(trx, { hash: codeHash(code), credentialId, now, expiresAt });
  });
  return { code, expiresAt };
}

/** Turns a code into a session. Throws 403 `invalid_code` when it is unknown, used or too old. */
export async function startPageSession(store: Store, code: string, now: number): Promise<{ token: string; expiresAt: number }> {
  const token = newSecret('page');
  const expiresAt = now + pageSessionLife;
  await store.transaction().execute(async (trx) => {
    const taken = await takeToken(trx, codeHash(code), now);
    if (taken === undefined) {
      throw new ServiceError(403, 'invalid_code', 'This code was used already or is too old; get a new one with `aops local open`.');
    }
    await insert(trx, { hash: secretHash(token), credentialId: taken.credential_id, now, expiresAt });
  });
  return { token, expiresAt };
}

/** Ends a session: its token is good for nothing any more. Resolves to whether there was one. */
export async function endPageSession(store: Store, token: string, now: number): Promise<boolean> {
  if (!isPageToken(token)) return false;
  return (await takeToken(store, secretHash(token), now)) !== undefined;
}

/** Whether a token is of a session, by how it begins. */
const isPageToken = (token: string): boolean => token.startsWith('aops_page_');

function insert(trx: Queries, row: { hash: string; credentialId: string; now: number; expiresAt: number }): Promise<void> {
  return insertToken(trx, {
    hash: row.hash,
    credential_id: row.credentialId,
    created_at: isoTime(row.now),
    expires_at: row.expiresAt,
    scopes: pageScopes.join(' '),
  });
}
