/** The conversation between people and the generator about an artifact, in order. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { bytesOf, fittingCount } from '../database/page-bytes.ts';
import { lockRows } from '../database/row-locks.ts';
import type { ArtifactMessageRow, ArtifactMessagesTable } from '../database/schema.ts';

/** Inserts a message at the end. Call it in a transaction. */
export async function insertArtifactMessage(
  db: Queries,
  message: Omit<Insertable<ArtifactMessagesTable>, 'seq'>,
): Promise<ArtifactMessageRow> {
  await lockRows(db, 'artifacts', [message.artifact_id]);
  const { last } = await db
    .selectFrom('artifact_messages')
    .select((select) => select.fn.max('seq').as('last'))
    .where('artifact_id', '=', message.artifact_id)
    .executeTakeFirstOrThrow();
  return db
    .insertInto('artifact_messages')
    .values({ ...message, seq: Number(last ?? 0) + 1 })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function findArtifactMessage(db: Queries, artifactId: string, id: string): Promise<ArtifactMessageRow | undefined> {
  return db.selectFrom('artifact_messages').selectAll().where('id', '=', id).where('artifact_id', '=', artifactId).executeTakeFirst();
}

/**
 * The last messages before a position, the oldest of them first; `hasMore` is whether there are older ones. There are fewer than
 * `limit` if they are large (see `fittingCount`).
 */
export async function listArtifactMessageRows(
  db: Queries,
  artifactId: string,
  page: { limit: number; before: number | undefined },
): Promise<{ rows: ArtifactMessageRow[]; total: number; hasMore: boolean }> {
  const query = db.selectFrom('artifact_messages').where('artifact_id', '=', artifactId);
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  const earlierMessages = page.before === undefined ? query : query.where('seq', '<', page.before);
  const pageQuery = earlierMessages.orderBy('seq', 'desc');
  const sizes = await pageQuery
    .select(bytesOf('content', 'message', 'selected_element').as('bytes'))
    .limit(page.limit + 1)
    .execute();
  const count = fittingCount(sizes.slice(0, page.limit).map(({ bytes }) => bytes));
  const rows = await pageQuery.selectAll().limit(count).execute();
  return { rows: rows.reverse(), total: Number(total), hasMore: sizes.length > count };
}
