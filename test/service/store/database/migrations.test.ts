/** Migrations during an upgrade: nodes of two versions work on the same database, so migrations of a release only add. */
import { DummyDriver, Kysely, type Migration, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import { describe, expect, it } from 'vitest';
import { canRead, firstSharedSchema, oldestReader } from '../../../../src/service/store/database/migrations/compatibility.ts';
import { migrations, oldestReaders } from '../../../../src/service/store/database/migrations/index.ts';
import { migrations as postgresMigrations } from '../../../../src/service/store/database/postgres/migrate.ts';
import { migrations as sqliteMigrations } from '../../../../src/service/store/database/sqlite/migrate.ts';

/** The statements of a migration that a version without it cannot work with. */
async function removals(migration: Migration): Promise<string[]> {
  const statements: string[] = [];
  const db = new Kysely<never>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql.replaceAll(/\s+/g, ' ')),
  });
  await migration.up(db);
  return statements.filter((statement) => isRemoval(statement));
}

function isRemoval(statement: string): boolean {
  if (/\b(drop (table|column|view)|rename (to|column)|rename \w+ to|alter column \w+ (set data )?type|set not null)\b/i.test(statement))
    return true;
  // A version that does not know the column inserts rows without it.
  return /\balter table\b.*\badd\b.*\bnot null\b/i.test(statement) && !/\bdefault\b/i.test(statement);
}

const isShared = (name: string): boolean => name > firstSharedSchema;

describe('migrations', () => {
  it.each(Object.entries({ ...sqliteMigrations, ...postgresMigrations }).filter(([name]) => isShared(name)))(
    '%s only adds, or says what a process must know to work without what it removes',
    async (name, migration) => {
      const found = await removals(migration);
      if (oldestReaders[name] === undefined)
        expect(found, 'remove it in a later release, and list that migration in oldestReaders').toEqual([]);
    },
  );

  it('that remove or rename something are recognised', async () => {
    const found = await Promise.all(['0004-browser', '0020-answered-keys'].map((name) => removals(migrations[name] as Migration)));
    for (const statements of found) expect(statements).not.toEqual([]);
    expect(
      ['alter table a rename b to c', 'alter table a add column b text not null', 'alter table a drop column b'].filter(isRemoval),
    ).toHaveLength(3);
    expect(
      ["alter table a add column b text not null default ''", 'alter table a add column b text', 'create table b (c text not null)'].filter(
        isRemoval,
      ),
    ).toEqual([]);
  });

  it('that older processes cannot work with name an earlier migration', () => {
    const names = Object.keys({ ...migrations, ...postgresMigrations });
    for (const [name, reader] of Object.entries(oldestReaders)) {
      expect(names).toEqual(expect.arrayContaining([name, reader]));
      expect(reader < name).toBe(true);
    }
  });
});

it('a process can use a database if it knows the schema that is required', () => {
  expect(oldestReader(['0001-core', '0040-a'], {})).toBe(firstSharedSchema);
  expect(oldestReader(['0001-core', '0040-a', '0050-b', '0051-c'], { '0050-b': '0040-a', '0051-c': '0039-z' })).toBe('0040-a');
  expect(canRead(['0031-run-search', '0040-a'], '0040-a')).toBe(true);
  expect(canRead(['0031-run-search', '0039-z'], '0040-a')).toBe(false);
  expect(canRead(['0031-run-search'], undefined)).toBe(false);
});
