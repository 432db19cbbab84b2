/** A database from before scopes: the access of its credentials, and the size of its idempotency keys. */
import { join } from 'node:path';
import { Kysely, sql } from 'kysely';
import Libsql from 'libsql';
import { expect, it } from 'vitest';
import { secretHash } from '../../../src/service/secret-hash.ts';
import { findToken } from '../../../src/service/store/access/credentials.ts';
import { findTeam } from '../../../src/service/store/access/teams.ts';
import { migrations } from '../../../src/service/store/database/migrations/index.ts';
import type { Database } from '../../../src/service/store/database/schema.ts';
import { LibsqlDialect } from '../../../src/service/store/database/sqlite/dialect.ts';
import { migrate } from '../../../src/service/store/database/sqlite/migrate.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { findKey, storedUsage } from '../../../src/service/store/idempotency/key-rows.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';

it('keeps full access for existing tokens, and the idempotency keys that have an answer', async () => {
  const directory = await temporaryDirectory();
  const before = new Kysely<Database>({ dialect: new LibsqlDialect(new Libsql(join(directory, 'aops.db'))) });
  const olderMigrations = Object.entries(migrations).filter(([name]) => name < '0006-access');
  await migrate(before, directory, Object.fromEntries(olderMigrations));
  await sql`insert into teams (id, name, created_at) values ('t', 'Old', '2026-01-01T00:00:00.000Z')`.execute(before);
  await sql`insert into credentials (id, team_id, kind, name, created_at) values ('c', 't', 'local', 'Local', '2026-01-01T00:00:00.000Z')`.execute(
    before,
  );
  await sql`insert into tokens (hash, credential_id, created_at) values (${secretHash('old')}, 'c', '2026-01-01T00:00:00.000Z')`.execute(
    before,
  );
  for (const [key, status, body] of [
    ['answered', 201, '{"ok":1}'],
    ['unfinished', null, null],
  ])
    await sql`insert into idempotency_keys (credential_id, key, fingerprint, status, body, request_id, owner, lease_until, expires_at)
      values ('c', ${key}, 'f', ${status}, ${body}, 'r', 'o', 0, 7)`.execute(before);
  await before.destroy();

  const after = await openDatabase(directory);
  afterTest(() => after.destroy());
  expect(await findToken(after, secretHash('old'), Date.now())).toMatchObject({ teamId: 't', kind: 'local', scopes: null });
  expect(await findTeam(after, 't')).toMatchObject({ name: 'Old', deleted_at: null });
  expect(await storedUsage(after)).toEqual(new Map([['c', { records: 1, bytes: 8, firstExpiry: 7 }]]));
  const storedAnswer = { status: 201, content_type: '', location: null, body: '{"ok":1}', request_id: 'r', expires_at: 7, size: 8 };
  expect(await findKey(after, { credentialId: 'c', key: 'answered' })).toMatchObject(storedAnswer);
});
