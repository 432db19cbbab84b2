/** The access of this machine's owner: a team, a credential, and a token in the data directory. */

import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbsent, readFailure } from '../base/read-failure.ts';
import { newId } from './ids.ts';
import { newSecret, secretHash } from './secret-hash.ts';
import { deleteTokens, findToken, firstCredential, insertCredential, insertToken } from './store/access/credentials.ts';
import { insertTeam } from './store/access/teams.ts';
import type { Store } from './store/database/database.ts';
import { isShared, lockName } from './store/database/row-locks.ts';
import { isoTime } from './store/database/time.ts';

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
    await lockName(trx, 'local access');
    const credential = await firstCredential(trx, 'local');
    const existingToken = storedToken === '' ? undefined : await findToken(trx, secretHash(storedToken), now);
    if (credential !== undefined && existingToken?.credentialId === credential.id)
      return { teamId: credential.team_id, token: storedToken };
    const created_at = isoTime(now);
    const owner = credential ?? { id: newId(), team_id: newId() };
    if (credential === undefined) {
      await insertTeam(trx, { id: owner.team_id, name: 'Local', created_at });
      await insertCredential(trx, { id: owner.id, team_id: owner.team_id, kind: 'local', name: 'Local', created_at });
    }
    // Other nodes have tokens of their own.
    if (!isShared(trx)) await deleteTokens(trx, owner.id);
    await insertToken(trx, { hash: secretHash(token), credential_id: owner.id, created_at, expires_at: null });
    return { teamId: owner.team_id, token };
  });
  if (result.token !== storedToken) {
    await writeFile(`${path}.new`, `${result.token}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  await chmod(path, 0o600);
  return result;
}
