/** The nodes that use the database, and the jobs that each of them works on. */
import type { Queries } from '../database/database.ts';
import { nodeSilence } from '../database/node-silence.ts';
import type { NodeRow } from '../database/schema.ts';

/** Milliseconds for which the row of a node that ended without removing it is kept, for people who look for the cause. */
const retention = 86_400_000;

/**
 * Adds a node, and removes those that ended long ago and earlier ones with its name.
 * @param hasOwnName whether no other node that is alive has the name, so that an earlier one has ended although it was seen recently
 */
export async function insertNode(db: Queries, node: NodeRow, { hasOwnName = false } = {}): Promise<void> {
  await db
    .deleteFrom('nodes')
    .where((where) =>
      where.or([
        where('seen_at', '<', node.seen_at - retention),
        where.and([where('name', '=', node.name), where('seen_at', '<', node.seen_at - nodeSilence)]),
        ...(hasOwnName ? [where.and([where('name', '=', node.name), where('started_at', '<', node.started_at)])] : []),
      ]),
    )
    .execute();
  await db
    .insertInto('nodes')
    .values(node)
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: node.seen_at }))
    .execute();
}

/** Notes that a node is alive; false if its row was removed. */
export async function touchNode(db: Queries, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db.updateTable('nodes').set({ seen_at: now }).where('id', '=', id).executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function removeNode(db: Queries, id: string): Promise<void> {
  await db.deleteFrom('nodes').where('id', '=', id).execute();
}

/** All nodes by name, including those that ended without removing their row. */
export const listNodes = (db: Queries): Promise<NodeRow[]> =>
  db.selectFrom('nodes').selectAll().orderBy('name').orderBy('started_at').orderBy('id').execute();

/** A job that a node works on. */
export interface NodeWork {
  owner: string;
  kind: string;
  subjectId: string;
}

/** The jobs in progress, with the IDs of the nodes that work on them. */
export async function listNodeWork(db: Queries): Promise<NodeWork[]> {
  const rows = await db
    .selectFrom('jobs')
    .select(['owner', 'kind', 'subject_id as subjectId'])
    .where('status', '=', 'running')
    .where('owner', 'is not', null)
    .orderBy('kind')
    .orderBy('subject_id')
    .execute();
  return rows as NodeWork[];
}
