/** Credentials that were revoked, and their tokens. */
import { expect, it } from 'vitest';
import { insertCredential, insertToken, revokeTeamCredentials } from '../../../../src/service/store/access/credentials.ts';
import { insertTeam } from '../../../../src/service/store/access/teams.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';

it('the tokens of a team are removed with all of its credentials, and those of other teams stay', async () => {
  const store = await openDatabase(await temporaryDirectory());
  afterTest(() => store.destroy());
  const created_at = '2026-08-01T00:00:00.000Z';
  for (const team of ['t', 'other']) {
    await insertTeam(store, { id: team, name: team, created_at });
    for (const id of [`${team} 1`, `${team} 2`]) {
      await insertCredential(store, { id, team_id: team, kind: 'api_key', name: id, created_at, revoked_at: null });
      await insertToken(store, { hash: `hash ${id}`, credential_id: id, created_at, expires_at: null });
    }
  }
  await revokeTeamCredentials(store, 't', created_at);
  const tokens = await store.selectFrom('tokens').select('credential_id').orderBy('credential_id').execute();
  expect(tokens.map(({ credential_id: id }) => id)).toEqual(['other 1', 'other 2']);
  const active = await store.selectFrom('credentials').select('id').where('revoked_at', 'is', null).orderBy('id').execute();
  expect(active.map(({ id }) => id)).toEqual(['other 1', 'other 2']);
});
