/** How queries for Postgres are compiled and introspected. They are executed by `PostgresTransactions`. */
import {
  type BinaryOperationNode,
  type DatabaseIntrospector,
  type Dialect,
  type Driver,
  type Kysely,
  OperatorNode,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  PrimitiveValueListNode,
  type RawNode,
  ValueListNode,
} from 'kysely';
import type { SharedAdapter } from '../row-locks.ts';

/** Tells queries that other processes write to the database as well. */
export class SharedPostgresAdapter extends PostgresAdapter implements SharedAdapter {
  readonly isShared = true;
}

/** Accepts empty lists like SQLite: nothing is in them. */
class ListCompiler extends PostgresQueryCompiler {
  protected override visitBinaryOperation(node: BinaryOperationNode): void {
    const { operator, rightOperand: list } = node;
    const isEmpty = (PrimitiveValueListNode.is(list) || ValueListNode.is(list)) && list.values.length === 0;
    if (isEmpty && OperatorNode.is(operator)) this.append(operator.operator === 'in' ? 'false' : 'true');
    else super.visitBinaryOperation(node);
  }
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
  createQueryCompiler: () => new ListCompiler(),
});
