/** Artifacts. Private ones are seen by who created them alone. */
import type { Insertable, Updateable } from 'kysely';
import type { ArtifactStatus } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import type { ArtifactRow, ArtifactsTable } from '../database/schema.ts';

/** Statuses of a generation that has not ended. */
export const generatingStatuses = ['pending', 'running'] as const satisfies readonly ArtifactStatus[];

export const isGenerating = ({ status }: Pick<ArtifactRow, 'status'>): boolean =>
  (generatingStatuses as readonly ArtifactStatus[]).includes(status);

/** What an artifact of this moment has: its owner's alone, with no page yet, and never remade. */
export const freshArtifact = (now: string) =>
  ({
    visibility: 'private',
    publish_permission: 'view',
    current_revision_id: null,
    generation: null,
    question: null,
    refresh_frequency: null,
    last_refresh_at: null,
    next_refresh_at: null,
    created_at: now,
    updated_at: now,
  }) as const;

export async function insertArtifact(db: Queries, artifact: Insertable<ArtifactsTable>): Promise<ArtifactRow> {
  return db.insertInto('artifacts').values(artifact).returningAll().executeTakeFirstOrThrow();
}

export async function findArtifact(db: Queries, teamId: string, id: string): Promise<ArtifactRow | undefined> {
  return db.selectFrom('artifacts').selectAll().where('id', '=', id).where('team_id', '=', teamId).executeTakeFirst();
}

/** For jobs, which know no team. */
export async function artifactById(db: Queries, id: string): Promise<ArtifactRow | undefined> {
  return db.selectFrom('artifacts').selectAll().where('id', '=', id).executeTakeFirst();
}

export interface ArtifactFilter {
  teamId: string;
  /** The caller. */
  userId: string;
  /** Whether the caller sees what others keep to themselves. */
  seesAll: boolean;
  /** `created` by the caller, `shared` by others, `team` for what the team sees; absent for all of it. */
  scope: 'created' | 'shared' | 'team' | undefined;
}

/** Newest first. */
export async function listArtifactRows(
  db: Queries,
  filter: ArtifactFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: ArtifactRow[]; total: number }> {
  const query = filtered(db, filter);
  const rows = await query.selectAll().orderBy('created_at', 'desc').orderBy('id').limit(page.limit).offset(page.offset).execute();
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}

function filtered(db: Queries, { teamId, userId, seesAll, scope }: ArtifactFilter) {
  const query = db.selectFrom('artifacts').where('team_id', '=', teamId);
  switch (scope) {
    case 'created':
      return query.where('created_by', '=', userId);
    case 'shared':
      return query.where('created_by', '!=', userId).where('visibility', '!=', 'private');
    case 'team':
      return query.where('visibility', '!=', 'private');
    default:
      if (seesAll) return query;
      return query.where((where) => where.or([where('created_by', '=', userId), where('visibility', '!=', 'private')]));
  }
}

/** Changes an artifact that is in one of the given statuses, or in any; undefined when it is in another, or gone. */
export async function changeArtifact(
  db: Queries,
  id: string,
  changes: Updateable<ArtifactsTable>,
  from?: readonly ArtifactStatus[],
): Promise<ArtifactRow | undefined> {
  const query = db.updateTable('artifacts').set(changes).where('id', '=', id);
  return (from === undefined ? query : query.where('status', 'in', [...from])).returningAll().executeTakeFirst();
}

/** Removes an artifact with everything of it. Call it in a transaction. */
export async function removeArtifact(db: Queries, id: string): Promise<void> {
  await db.deleteFrom('artifact_connections').where('artifact_id', '=', id).execute();
  await db.deleteFrom('artifact_messages').where('artifact_id', '=', id).execute();
  await db.deleteFrom('artifact_revisions').where('artifact_id', '=', id).execute();
  await db.deleteFrom('artifacts').where('id', '=', id).execute();
}
