/** What the queries of Kysely have in common with their results from the driver. */
import type { CompiledQuery, QueryResult } from 'kysely';
import type { QueryResult as PostgresResult } from 'pg';
import { kindOf } from '../execution/kinds.ts';

/** SQL written by hand reads, takes locks, or changes settings; only migrations change anything with it. */
export const isReadOnly = ({ query, sql }: CompiledQuery): boolean =>
  kindOf(query) === 'read' || (kindOf(query) === 'other' && /^\s*(select|set|explain)\b/i.test(sql));

/** The result of a statement that nobody waits for. */
export const noResult: QueryResult<never> = { rows: [] };

export function resultOf({ rows, command, rowCount }: PostgresResult): QueryResult<never> {
  const isChange = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE';
  return { rows: rows as never[], ...(isChange ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) };
}
