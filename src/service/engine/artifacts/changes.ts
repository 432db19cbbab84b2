/** Changes to artifacts that do not generate a page: names, visibility, copies, earlier revisions. Each is one transaction. */

import type { Body } from '../../../interface/types.ts';
import type { PageSpec } from '../../artifacts/page.ts';
import { notFound } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { findArtifactRevision, insertArtifactRevision } from '../../store/artifacts/artifact-revisions.ts';
import { changeArtifact, freshArtifact, insertArtifact, removeArtifact } from '../../store/artifacts/artifacts.ts';
import type { Queries } from '../../store/database/database.ts';
import type { ArtifactRevisionRow, ArtifactRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';
import { type Reader, requireArtifact } from './access.ts';
import { maxRevisions } from './driver.ts';
import { artifactEmpty, requireIdle, requireRow } from './generation.ts';
import { planRefresh } from './schedule.ts';

/** Renames an artifact, or changes how often it is refreshed. Throws 404, 403. */
export async function updateArtifact(
  engine: HasStore & HasClock & HasWorker,
  reader: Reader,
  id: string,
  body: Body<'updateArtifact'>,
): Promise<ArtifactRow> {
  const updated = await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id, 'edit');
    const now = engine.clock.now();
    const { title, refresh_frequency: frequency } = body;
    const next = frequency === undefined ? artifact.next_refresh_at : await planRefresh(trx, artifact.id, frequency, now);
    return requireRow(
      await changeArtifact(trx, artifact.id, {
        title: title ?? artifact.title,
        refresh_frequency: frequency === undefined ? artifact.refresh_frequency : frequency,
        next_refresh_at: next,
        updated_at: isoTime(now),
      }),
    );
  });
  engine.worker.wake();
  return updated;
}

/** Throws 404, 403 `artifact_not_yours`. */
export async function publishArtifact(
  engine: HasStore & HasClock,
  reader: Reader,
  id: string,
  body: Body<'publishArtifact'>,
): Promise<ArtifactRow> {
  return engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id, 'manage');
    return requireRow(
      await changeArtifact(trx, artifact.id, {
        visibility: body.visibility,
        publish_permission: body.permission ?? artifact.publish_permission,
        updated_at: isoTime(engine.clock.now()),
      }),
    );
  });
}

/** Throws 404, 403 `artifact_not_yours`. */
export async function deleteArtifact(engine: HasStore & HasWorker, reader: Reader, id: string): Promise<void> {
  await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id, 'manage');
    await removeArtifact(trx, artifact.id);
    for (const kind of [jobKinds.artifact, jobKinds.refreshArtifact]) await revokeJob(trx, kind, artifact.id);
  });
  engine.worker.abort(jobKinds.artifact, id, 'stopped');
}

/** Creates a private copy of the current page, without the messages. Throws 404, 409 `artifact_empty`. */
export async function duplicateArtifact(engine: HasStore & HasClock, reader: Reader, id: string): Promise<ArtifactRow> {
  return engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id);
    const current = await currentRevision(trx, artifact);
    if (current === undefined) throw artifactEmpty('copy');
    const now = isoTime(engine.clock.now());
    const title = [...`Copy of ${artifact.title ?? 'an artifact'}`].slice(0, 120).join('');
    const copy = await insertArtifact(trx, {
      ...artifact,
      id: newId(),
      created_by: reader.credentialId,
      title,
      status: 'completed',
      ...freshArtifact(now),
    });
    const revision = await keep(trx, copy, { spec: current.spec, content: current.content, created_at: now });
    return requireRow(await changeArtifact(trx, copy.id, { current_revision_id: revision.id }));
  });
}

/** Makes a copy of an earlier revision the current one. The other revisions stay unchanged. Throws 404, 403, 409 `artifact_generating`. */
export async function restoreRevision(
  engine: HasStore & HasClock,
  reader: Reader,
  id: string,
  revisionId: string,
): Promise<ArtifactRevisionRow> {
  return engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id, 'edit');
    requireIdle(artifact);
    const sourceRevision = await findArtifactRevision(trx, artifact.id, revisionId);
    if (sourceRevision === undefined) throw notFound('revision', revisionId);
    if (sourceRevision.id === artifact.current_revision_id) return sourceRevision;
    const now = isoTime(engine.clock.now());
    const { spec, content, version } = sourceRevision;
    const revision = await keep(trx, artifact, { spec, content, created_at: now }, version);
    const { title } = JSON.parse(spec) as PageSpec;
    await changeArtifact(trx, artifact.id, { current_revision_id: revision.id, title, status: 'completed', updated_at: now });
    return revision;
  });
}

/** The revision whose page is displayed; undefined before the first one. */
export async function currentRevision(db: Queries, artifact: ArtifactRow): Promise<ArtifactRevisionRow | undefined> {
  return artifact.current_revision_id === null ? undefined : findArtifactRevision(db, artifact.id, artifact.current_revision_id);
}

const keep = (
  trx: Queries,
  artifact: ArtifactRow,
  page: Pick<ArtifactRevisionRow, 'spec' | 'content' | 'created_at'>,
  restoredFrom: number | null = null,
): Promise<ArtifactRevisionRow> =>
  insertArtifactRevision(
    trx,
    {
      id: newId(),
      artifact_id: artifact.id,
      parent_revision_id: artifact.current_revision_id,
      restored_from_version: restoredFrom,
      ...page,
    },
    maxRevisions,
  );
