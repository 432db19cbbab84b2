/** Revisions of artifacts: each contains what the page was to show, and the data of that time. */
import type { Insertable } from 'kysely';
import type { Queries } from '../database/database.ts';
import { lockRows } from '../database/row-locks.ts';
import type { ArtifactRevisionRow, ArtifactRevisionsTable } from '../database/schema.ts';

/** A revision without the contents of its page. */
export type ListedRevision = Omit<ArtifactRevisionRow, 'spec' | 'content'>;

/** Inserts a revision with the artifact's next version, and removes all but the newest `keep`. Call it in a transaction. */
export async function insertArtifactRevision(
  db: Queries,
  revision: Omit<Insertable<ArtifactRevisionsTable>, 'version'>,
  keep: number,
): Promise<ArtifactRevisionRow> {
  await lockRows(db, 'artifacts', [revision.artifact_id]);
  const { last } = await db
    .selectFrom('artifact_revisions')
    .select((select) => select.fn.max('version').as('last'))
    .where('artifact_id', '=', revision.artifact_id)
    .executeTakeFirstOrThrow();
  const version = Number(last ?? 0) + 1;
  await db
    .deleteFrom('artifact_revisions')
    .where('artifact_id', '=', revision.artifact_id)
    .where('version', '<=', version - keep)
    .execute();
  return db
    .insertInto('artifact_revisions')
    .values({ ...revision, version })
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function findArtifactRevision(db: Queries, artifactId: string, id: string): Promise<ArtifactRevisionRow | undefined> {
  return db.selectFrom('artifact_revisions').selectAll().where('id', '=', id).where('artifact_id', '=', artifactId).executeTakeFirst();
}

/** Newest first. */
export async function listArtifactRevisionRows(db: Queries, artifactId: string): Promise<ListedRevision[]> {
  return db
    .selectFrom('artifact_revisions')
    .select(['id', 'artifact_id', 'version', 'parent_revision_id', 'restored_from_version', 'created_at'])
    .where('artifact_id', '=', artifactId)
    .orderBy('version', 'desc')
    .execute();
}
