/** Reads and writes the rows of any table, in pages that are limited in bytes. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Queries } from '../database.ts';
import { bytesOf, fittingCount } from '../page-bytes.ts';
import type { TableShape } from './portable-database.ts';
import { ownSettings } from './tables.ts';

export type Value = string | number | null;
export type Row = Record<string, Value>;
/** The values of the primary key, in its order. */
export type Key = readonly Value[];

/** Tables that the types do not know: their names come from a list. */
type AnyTables = Record<string, Row>;
const anyTables = (db: Queries): Kysely<AnyTables> => db as unknown as Kysely<AnyTables>;

/** How many rows are looked at to find those that fit on a page. */
const maxPageRows = 1_000;
/** Parameters of one statement; SQLite accepts 32,766, Postgres 65,535. */
const maxParameters = 30_000;

/** The rows of a table in the order of the primary key, without settings that describe the database itself. */
export async function* rowPages(db: Queries, shape: TableShape, after?: Key): AsyncGenerator<Row[], void, undefined> {
  for (let last = after; ; ) {
    const until = await endOfPage(db, shape, last);
    if (until === undefined) return;
    const rows = await rowsOf(db, shape, last)
      .select([...shape.columns])
      .where(comparison(shape, '<=', until))
      .orderBy(byKey(shape))
      .execute();
    yield rows as Row[];
    last = until;
  }
}

/** The number of rows that `rowPages` yields. */
export async function countRows(db: Queries, shape: TableShape): Promise<number> {
  const { count } = await rowsOf(db, shape, undefined)
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Inserts rows that have all columns. */
export async function insertRows(db: Queries, shape: TableShape, rows: readonly Row[]): Promise<void> {
  const size = Math.floor(maxParameters / shape.columns.length);
  for (let start = 0; start < rows.length; start += size)
    await anyTables(db)
      .insertInto(shape.name)
      .values(rows.slice(start, start + size))
      .execute();
}

export const keyOf = (shape: TableShape, row: Row): Key => shape.key.map((column) => row[column] as Value);

/** The key of the last row that fits on the page after a row; undefined if no rows follow. */
async function endOfPage(db: Queries, shape: TableShape, after: Key | undefined): Promise<Key | undefined> {
  const places = await rowsOf(db, shape, after)
    .select([...shape.key])
    .select(bytesOf(...shape.texts).as('bytes_of_row'))
    .orderBy(byKey(shape))
    .limit(maxPageRows)
    .execute();
  const count = fittingCount(places.map((place) => Number(place.bytes_of_row)));
  const last = places[count - 1];
  return last === undefined ? undefined : keyOf(shape, last as Row);
}

function rowsOf(db: Queries, shape: TableShape, after: Key | undefined) {
  let query = anyTables(db).selectFrom(shape.name);
  if (shape.name === 'settings') query = query.where('name', 'not in', Object.values(ownSettings));
  return after === undefined ? query : query.where(comparison(shape, '>', after));
}

/** The columns of the key, and values for them, are compared in their order. */
const comparison = (shape: TableShape, operator: '>' | '<=', key: Key): RawBuilder<boolean> =>
  sql<boolean>`(${sql.join(shape.key.map((column) => sql.ref(column)))}) ${sql.raw(operator)} (${sql.join(key)})`;

const byKey = (shape: TableShape): RawBuilder<unknown> => sql.join(shape.key.map((column) => sql.ref(column)));
