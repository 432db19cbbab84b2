/** How queries for Postgres are compiled and introspected. They are executed by `PostgresTransactions`. */
import {
  type DatabaseIntrospector,
  type Dialect,
  type Driver,
  type Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawNode,
} from 'kysely';
import type { SharedAdapter } from '../row-locks.ts';

/** Tells queries that other processes write to the database as well. */
export class SharedPostgresAdapter extends PostgresAdapter implements SharedAdapter {
  readonly isShared = true;
}

/**
 * Translates the types of migrations, which are written for SQLite: its integers have 64 bits, and its texts are sorted by their
 * bytes. Without this, times in milliseconds would not fit, and lists would be in a different order in each database.
 */
export class MigrationCompiler extends PostgresQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    super.visitRaw({ ...node, sqlFragments: node.sqlFragments.map(withPostgresTypes) });
  }
}

/** The statement with the types of Postgres. */
export const withPostgresTypes = (statement: string): string =>
  statement.replace(/\binteger\b/g, 'bigint').replace(/\b(\w+) text\b/g, '$1 text collate "C"');

export const postgresDialect = (driver: Driver): Dialect => ({
  createAdapter: () => new SharedPostgresAdapter(),
  createDriver: () => driver,
  createIntrospector: (db: Kysely<unknown>): DatabaseIntrospector => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
});
