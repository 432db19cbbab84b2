/** What a query does, according to its syntax tree. */
import { DeleteQueryNode, InsertQueryNode, type OperationNode, SelectQueryNode, TableNode, UpdateQueryNode } from 'kysely';

/** `other` is SQL written by hand, which might be impossible in a transaction, and can change anything. */
export type StatementKind = 'read' | 'write' | 'other';

export function kindOf(query: OperationNode): StatementKind {
  if (SelectQueryNode.is(query)) return 'read';
  return InsertQueryNode.is(query) || UpdateQueryNode.is(query) || DeleteQueryNode.is(query) ? 'write' : 'other';
}

/** The table that a statement changes; undefined for SQL written by hand. */
export function changedTable(query: OperationNode): string | undefined {
  if (InsertQueryNode.is(query)) return tableName(query.into);
  if (UpdateQueryNode.is(query)) return tableName(query.table);
  return DeleteQueryNode.is(query) ? tableName(query.from.froms[0]) : undefined;
}

const tableName = (node: OperationNode | undefined): string | undefined =>
  node !== undefined && TableNode.is(node) ? node.table.identifier.name : undefined;
