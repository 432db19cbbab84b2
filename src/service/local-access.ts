/** The access of this machine's owner: a team, a credential, and a token in the data directory. */

import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent, readFailure } from '../base/read-failure.ts';
import { newId } from './ids.ts';
import { newSecret, secretHash } from './secret-hash.ts';
import { deleteTokens, findToken, firstCredential, insertCredential, insertToken } from './store/access/credentials.ts';
import { insertTeam } from './store/access/teams.ts';
import type { Queries, Store } from './store/database/database.ts';
import { isShared, lockName } from './store/database/row-locks.ts';
import { isoTime } from './store/database/time.ts';

/** The owner's credential, and the team that it belongs to. */
export interface Owner {
  credentialId: string;
  teamId: string;
}

/** The owner of a database, who is created with the team by the first caller. */
export const ownerOf = (store: Store, now: number): Promise<Owner> => store.transaction().execute((trx) => lockedOwner(trx, isoTime(now)));

async function lockedOwner(trx: Queries, created_at: string): Promise<Owner> {
  await lockName(trx, 'local access');
  const credential = await firstCredential(trx, 'local');
  if (credential !== undefined) return { credentialId: credential.id, teamId: credential.team_id };
  const owner = { credentialId: newId(), teamId: newId() };
  await insertTeam(trx, { id: owner.teamId, name: 'Local', created_at });
  await insertCredential(trx, { id: owner.credentialId, team_id: owner.teamId, kind: 'local', name: 'Local', created_at });
  return owner;
}

/**
 * The team and the token, which are created at the first start. A token file that is missing or out of date is replaced. A token file
 * that cannot be read is not replaced, because that would revoke a token that is in use.
 * @throws AopsError `not_readable`
 */
export async function localAccess(store: Store, dataDirectory: string, now: number): Promise<{ teamId: string; token: string }> {
  const path = join(dataDirectory, 'token');
  const storedToken = await readFile(path, 'utf8').then(
    (text) => text.trim(),
    (error: unknown) => {
      if (isAbsent(error)) return '';
      throw readFailure(error, path);
    },
  );
  const token = newSecret('local');
  const result = await store.transaction().execute(async (trx) => {
    const created_at = isoTime(now);
    const { credentialId: credential_id, teamId } = await lockedOwner(trx, created_at);
    const existingToken = storedToken === '' ? undefined : await findToken(trx, secretHash(storedToken), now);
    if (existingToken?.credentialId === credential_id) return { teamId, token: storedToken };
    // Other nodes have tokens of their own.
    if (!isShared(trx)) await deleteTokens(trx, credential_id);
    await insertToken(trx, { hash: secretHash(token), credential_id, created_at, expires_at: null });
    return { teamId, token };
  });
  if (result.token !== storedToken) {
    await writeFile(`${path}.new`, `${result.token}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  await chmod(path, 0o600);
  return result;
}
