/** Two versions on one database: an older node continues, unless the newer one has removed what it needs. */
import { type Migration, sql } from 'kysely';
import { expect, it } from 'vitest';
import { type MigrateOptions, migrations } from '../../../../../src/service/store/database/postgres/migrate.ts';
import { openPostgres } from '../../../../../src/service/store/database/postgres/open.ts';
import { needsPostgres, newDatabase } from '../../../../support/postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { afterTest } from '../../../../support/temporary.ts';

/** A migration that executes one statement. */
const migration = (statement: string): Migration => ({ up: async (db) => void (await sql.raw(statement).execute(db)) });

const added = { ...migrations, '9000-added': migration("alter table teams add column color text not null default 'grey'") };
const unused: MigrateOptions = { migrations: { ...added, '9001-unused': migration('create table colors (name text primary key)') } };
const removed: MigrateOptions = {
  migrations: { ...unused.migrations, '9002-removed': migration('alter table teams drop column color') },
  oldestReaders: { '9002-removed': '9001-unused' },
};

async function openVersion(url: string, schema: MigrateOptions, instanceId: string) {
  const store = await openPostgres({ url, instanceId, schema });
  afterTest(() => store.destroy());
  return store;
}

const team = (id: string) => ({ id, name: id, created_at: '' });

describeNeeding(needsPostgres, 'two versions on one database', () => {
  it('an older node reads and writes after a newer one has migrated it, and can start again', async () => {
    const url = await newDatabase();
    const older = await openVersion(url, { migrations }, 'older');
    // A statement that was prepared before the table changed.
    const read = () => older.selectFrom('teams').selectAll().where('id', '=', 'a').executeTakeFirst();
    await older.insertInto('teams').values(team('a')).execute();
    await read();
    const newer = await openVersion(url, { migrations: added }, 'newer');
    expect(await read()).toMatchObject({ name: 'a' });
    await older.insertInto('teams').values(team('b')).execute();
    const restarted = await openVersion(url, { migrations }, 'restarted');
    await restarted.insertInto('teams').values(team('c')).execute();
    const { rows } = await sql<{ id: string; color: string }>`select id, color from teams order by id`.execute(newer);
    expect(rows).toEqual(['a', 'b', 'c'].map((id) => ({ id, color: 'grey' })));
  });

  it('a node that does not know what the newer one requires is refused, and one that knows it is not', async () => {
    const url = await newDatabase();
    await openVersion(url, removed, 'newest');
    await expect(openPostgres({ url, instanceId: 'old', schema: { migrations: added } })).rejects.toMatchObject({
      ...{ code: 'database_newer', exit: 6, message: expect.stringContaining('9002-removed') },
    });
    await openVersion(url, unused, 'previous');
  });

  it('an older node that migrates as well does not lower what is required', async () => {
    const url = await newDatabase();
    await openVersion(url, removed, 'newest');
    const own = { ...unused.migrations, '8999-own': migration('create table own (id text primary key)') };
    await openVersion(url, { migrations: own }, 'previous');
    await expect(openPostgres({ url, instanceId: 'old', schema: { migrations } })).rejects.toMatchObject({ code: 'database_newer' });
  });
});
