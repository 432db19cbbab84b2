/** Artifacts. Private ones are visible only to the credential that created them. */
import type { Insertable, Updateable } from 'kysely';
import type { ArtifactStatus } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { lockIfDeciding } from '../database/row-locks.ts';
import type { ArtifactRow, ArtifactsTable } from '../database/schema.ts';

/** Statuses of a generation that has not ended. */
export const generatingStatuses = ['pending', 'running'] as const satisfies readonly ArtifactStatus[];

export const isGenerating = ({ status }: Pick<ArtifactRow, 'status'>): boolean =>
  (generatingStatuses as readonly ArtifactStatus[]).includes(status);

/** The initial values of an artifact: private, without a page, and without automatic refresh. */
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
  await lockIfDeciding(db, 'artifacts', id);
  return db.selectFrom('artifacts').selectAll().where('id', '=', id).where('team_id', '=', teamId).executeTakeFirst();
}

/** For jobs, which have no team. */
export async function artifactById(db: Queries, id: string): Promise<ArtifactRow | undefined> {
  await lockIfDeciding(db, 'artifacts', id);
  return db.selectFrom('artifacts').selectAll().where('id', '=', id).executeTakeFirst();
}

export interface ArtifactFilter {
  teamId: string;
  /** The caller. */
  userId: string;
  /** Whether the caller sees the private artifacts of others. */
  seesAll: boolean;
  /** `created` by the caller, `shared` by others, or `team` for everything that the team sees; absent for all of these. */
  scope: 'created' | 'shared' | 'team' | undefined;
}

/** Newest first. */
export async function listArtifactRows(
  db: Queries,
  filter: ArtifactFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: ArtifactRow[]; total: number }> {
  const query = filteredArtifacts(db, filter);
  const rows = await query.selectAll().orderBy('created_at', 'desc').orderBy('id').limit(page.limit).offset(page.offset).execute();
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return { rows, total: Number(total) };
}

function filteredArtifacts(db: Queries, { teamId, userId, seesAll, scope }: ArtifactFilter) {
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

/** Changes an artifact that has one of the statuses, or any; undefined if it has a different one, or does not exist. */
export async function changeArtifact(
  db: Queries,
  id: string,
  changes: Updateable<ArtifactsTable>,
  from?: readonly ArtifactStatus[],
): Promise<ArtifactRow | undefined> {
  const query = db.updateTable('artifacts').set(changes).where('id', '=', id);
  return (from === undefined ? query : query.where('status', 'in', [...from])).returningAll().executeTakeFirst();
}

/** Removes an artifact with everything that belongs to it. Call it in a transaction. */
export async function removeArtifact(db: Queries, id: string): Promise<void> {
  await db.deleteFrom('artifact_connections').where('artifact_id', '=', id).execute();
  await db.deleteFrom('artifact_messages').where('artifact_id', '=', id).execute();
  await db.deleteFrom('artifact_revisions').where('artifact_id', '=', id).execute();
  await db.deleteFrom('artifacts').where('id', '=', id).execute();
}
