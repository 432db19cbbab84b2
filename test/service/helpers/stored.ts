/** What a service has stored, whichever database the tests use. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import Libsql from 'libsql';
import type { Store } from '../../../src/service/store/database/database.ts';
import { openPostgres } from '../../../src/service/store/database/postgres/open.ts';
import { openDatabase } from '../../../src/service/store/database/sqlite/open.ts';
import { databaseOptions, usesPostgres } from '../../support/postgres.ts';

/** Works with the database of a data directory that no service uses. */
export async function inStore<Result>(dataDirectory: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const { database } = await databaseOptions(dataDirectory);
  const store =
    database === undefined ? await openDatabase(dataDirectory) : await openPostgres({ ...database, instanceId: 'test', maxConnections: 2 });
  try {
    return await work(store);
  } finally {
    await store.destroy();
  }
}

/** The rows of a query, from the database of a data directory that no service uses. */
export const storedRows = <Row = Record<string, unknown>>(dataDirectory: string, query: string): Promise<Row[]> =>
  inStore(dataDirectory, async (store) => (await sql.raw<Row>(query).execute(store)).rows);

/** Changes the data of a service without its knowledge. With SQLite, the service must have ended. */
export async function alterStored(dataDirectory: string, statements: string): Promise<void> {
  if (usesPostgres) {
    await inStore(dataDirectory, async (store) => {
      for (const statement of statements.split(';')) if (statement.trim() !== '') await sql.raw(statement).execute(store);
    });
    return;
  }
  const file = new Libsql(join(dataDirectory, 'aops.db'));
  file.exec(statements);
  file.close();
}

/** Lets the rows of a table refer to rows that do not exist, as in a damaged database. With SQLite, those of all tables may. */
export async function ignoreReferences(store: Store, table: string): Promise<void> {
  if (!usesPostgres) {
    await sql`pragma foreign_keys = off`.execute(store);
    return;
  }
  const { rows } = await sql<{ conname: string }>`
    select conname from pg_constraint where contype = 'f' and conrelid = cast(${table} as regclass)`.execute(store);
  for (const { conname } of rows) await sql`alter table ${sql.table(table)} drop constraint ${sql.id(conname)}`.execute(store);
}

/** Everything that is in the database of a service, which may run, as text: every byte of SQLite's files, or all rows. */
export async function storedText(dataDirectory: string): Promise<string> {
  if (!usesPostgres) {
    const names = (await readdir(dataDirectory)).filter((name) => name.startsWith('aops.db'));
    return (await Promise.all(names.map((name) => readFile(join(dataDirectory, name), 'latin1')))).join('');
  }
  return inStore(dataDirectory, async (store) => {
    const tables = await store.introspection.getTables();
    const texts: string[] = [];
    for (const { name } of tables)
      texts.push(
        ...(await sql<{ text: string }>`select ${sql.table(name)}::text as text from ${sql.table(name)}`.execute(store)).rows.map(
          (row) => row.text,
        ),
      );
    return texts.join('\n');
  });
}
