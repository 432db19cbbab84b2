import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Migration, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../src/service/store/database.ts';
import { migrate } from '../../../src/service/store/migrate.ts';
import { migrations } from '../../../src/service/store/migrations/index.ts';
import { afterTest, temporaryDirectory } from '../helpers/service.ts';

async function opened() {
  const directory = await temporaryDirectory();
  const db = await openDatabase(directory);
  afterTest(() => db.destroy());
  return { db, directory };
}

const tables = async (db: Awaited<ReturnType<typeof openDatabase>>) => (await db.introspection.getTables()).map(({ name }) => name);

describe('migrations', () => {
  it('copy an existing file first, and are recorded', async () => {
    const { db, directory } = await opened();
    const second: Migration = { up: (any) => sql`create table extra (id text)`.execute(any).then(() => undefined) };
    expect(await readdir(directory)).not.toContain('backups');
    await migrate(db, directory, { ...migrations, '9999-extra': second });
    expect(await tables(db)).toContain('extra');
    expect(await readdir(join(directory, 'backups'))).toEqual([`aops-${Object.keys(migrations).at(-1)}.db`]);
    await migrate(db, directory, { ...migrations, '9999-extra': second });
  });

  it('that fail half-way leave nothing behind', async () => {
    const { db, directory } = await opened();
    const broken: Migration = {
      async up(any) {
        await sql`create table half (id text)`.execute(any);
        await sql`create nonsense`.execute(any);
      },
    };
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(migrate(db, directory, { ...migrations, '9999-broken': broken })).rejects.toThrow('nonsense');
    expect(await tables(db)).not.toContain('half');
  });

  it('of a newer version are refused, and the file is left as it is', async () => {
    const { db, directory } = await opened();
    await sql`insert into kysely_migration (name, timestamp) values ('9999-future', '')`.execute(db);
    await expect(migrate(db, directory)).rejects.toMatchObject({
      code: 'data_directory_newer',
      exit: 6,
      message: expect.stringContaining('9999-future'),
    });
  });
});

describe('the file', () => {
  it('has one owner at a time, and is free as soon as it is closed', async () => {
    const { db, directory } = await opened();
    await expect(openDatabase(directory)).rejects.toMatchObject({ code: 'data_directory_in_use' });
    await db.destroy();
    await (await openDatabase(directory)).destroy();
  });

  it('that a crash leaves needs no clean-up', async () => {
    const { db, directory } = await opened();
    await db.insertInto('settings').values({ name: 'a', value: 'acknowledged' }).execute();
    const copy = await temporaryDirectory();
    for (const name of await readdir(directory)) await cp(join(directory, name), join(copy, name));
    const again = await openDatabase(copy);
    expect((await again.selectFrom('settings').selectAll().execute())[0]?.value).toBe('acknowledged');
    await again.destroy();
  });

  it('is written through to the disk', async () => {
    const { db } = await opened();
    const pragma = async (name: string) => Object.values((await sql.raw(`pragma ${name}`).execute(db)).rows[0] as object)[0];
    expect([await pragma('journal_mode'), await pragma('synchronous'), await pragma('foreign_keys')]).toEqual(['wal', 2, 1]);
  });

  it('refuses what would end the process or be cut without a word', async () => {
    const { db } = await opened();
    await expect(
      db
        .insertInto('settings')
        .values({ name: 'flag', value: true as never })
        .execute(),
    ).rejects.toThrow(TypeError);
    await db.insertInto('settings').values({ name: 'nul', value: 'a\0b' }).execute();
    expect((await db.selectFrom('settings').select('value').where('name', '=', 'nul').executeTakeFirst())?.value).toBe('a\ufffdb');
  });
});
