/** Executes an `artifact` job: reads the request, looks up the data, and stores the page as a revision. After a restart, it starts over. */

import type { Updateable } from 'kysely';
import type { PageContent } from '../../artifacts/content.ts';
import { lookUp } from '../../artifacts/data/figures.ts';
import { emptyPage, type PageSpec } from '../../artifacts/page.ts';
import type { NamedResource } from '../../artifacts/request/blocks.ts';
import { type Composition, compose } from '../../artifacts/request/compose.ts';
import { hostTrouble } from '../../host-trouble.ts';
import { newId } from '../../ids.ts';
import { errorFields } from '../../log.ts';
import { listAgentRows } from '../../store/agents/agents.ts';
import { insertArtifactMessage } from '../../store/artifacts/artifact-messages.ts';
import { findArtifactRevision, insertArtifactRevision } from '../../store/artifacts/artifact-revisions.ts';
import { artifactById, changeArtifact, generatingStatuses } from '../../store/artifacts/artifacts.ts';
import { listQueueRows } from '../../store/cases/queues.ts';
import type { Queries } from '../../store/database/database.ts';
import { lockRows } from '../../store/database/row-locks.ts';
import type { ArtifactRow, ArtifactsTable, JobRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { holdsJob, releaseJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import type { HasClock, HasLog, HasStore } from '../engine.ts';
import { defineJob } from '../jobs/job.ts';
import { leaveJob } from '../jobs/leave.ts';
import { type Generation, type Question, requireRow } from './generation.ts';

/** How many of the newest revisions of an artifact are retained. */
export const maxRevisions = 200;

/** Works on the generation of an artifact until it asks a question, has generated a page, or has failed. */
export const artifactJob = defineJob({ kind: jobKinds.artifact, concurrency: 2, run: generateArtifact });

async function generateArtifact(engine: HasStore & HasClock & HasLog, job: JobRow, signal: AbortSignal): Promise<void> {
  const startedRow = await write(engine, job, signal, (trx, row) => change(engine, trx, row, { status: 'running' }));
  if (startedRow === undefined) return leaveJob(engine.store, job, signal, engine.clock.now());
  const endedRow = await write(engine, job, signal, (trx, row) => generate(engine, trx, job, row)).catch((error: unknown) => {
    if (hostTrouble(error) !== undefined) throw error;
    engine.log('error', 'an artifact could not be generated', { artifact: startedRow.id, ...errorFields(error) });
    return write(engine, job, signal, (trx, row) => fail(engine, trx, job, row));
  });
  if (endedRow === undefined) return leaveJob(engine.store, job, signal, engine.clock.now());
  engine.log('info', 'artifact generated', { artifact: endedRow.id, status: endedRow.status, waits: endedRow.question !== null });
}

/** Generates in one transaction, so that the data is consistent, and a generation that was stopped leaves nothing behind. */
async function generate(engine: HasClock, trx: Queries, job: JobRow, artifact: ArtifactRow): Promise<ArtifactRow> {
  const generation = JSON.parse(artifact.generation as string) as Generation;
  const baseId = generation.kind === 'message' ? generation.from : artifact.current_revision_id;
  const base = baseId === null ? undefined : await findArtifactRevision(trx, artifact.id, baseId);
  const page = base === undefined ? emptyPage : (JSON.parse(base.spec) as PageSpec);
  const outcome = await composePage(trx, artifact, generation, page);
  await releaseJob(trx, job, { status: outcome.status === 'asking' ? 'parked' : 'done' });
  const reply = (content: string, details?: MessageDetails) => answer(engine, trx, artifact, content, details);
  switch (outcome.status) {
    case 'failed':
      await reply(outcome.error, { message: { type: 'error' } });
      return change(engine, trx, artifact, { status: 'failed', generation: null });
    case 'asking': {
      const question: Question = { toolCallId: newId(), questions: outcome.questions };
      await reply(outcome.questions.map((question) => question.question).join('\n'), { message: { type: 'question', ...question } });
      return change(engine, trx, artifact, { question: JSON.stringify(question) });
    }
    case 'composed': {
      const content = await lookUp(trx, artifact.team_id, outcome.page, engine.clock.now());
      const revisionId = await keepRevision(engine, trx, artifact, { page: outcome.page, content, parentId: base?.id ?? null });
      if (generation.kind === 'message') await reply(outcome.changes.join('\n'), { revisionId });
      return change(engine, trx, artifact, {
        ...(generation.kind === 'refresh' ? { last_refresh_at: isoTime(engine.clock.now()) } : {}),
        status: 'completed',
        generation: null,
        title: outcome.page.title,
        current_revision_id: revisionId,
      });
    }
  }
}

/** Records a failure of the service, as opposed to one of the request. */
async function fail(engine: HasClock, trx: Queries, job: JobRow, artifact: ArtifactRow): Promise<ArtifactRow> {
  await releaseJob(trx, job, { status: 'done' });
  await answer(engine, trx, artifact, 'The generator failed; see the log of the service.', { message: { type: 'error' } });
  return change(engine, trx, artifact, { status: 'failed', generation: null });
}

interface MessageDetails {
  message?: unknown;
  revisionId?: string;
}

async function answer(
  engine: HasClock,
  trx: Queries,
  artifact: ArtifactRow,
  content: string,
  { message, revisionId }: MessageDetails = {},
): Promise<void> {
  await insertArtifactMessage(trx, {
    id: newId(),
    artifact_id: artifact.id,
    author_user_id: null,
    role: 'assistant',
    content,
    message: message === undefined ? null : JSON.stringify(message),
    revision_id: revisionId ?? null,
    selected_element: null,
    created_at: isoTime(engine.clock.now()),
  });
}

async function composePage(trx: Queries, artifact: ArtifactRow, generation: Generation, base: PageSpec): Promise<Composition> {
  // Renaming an artifact also applies to its page, but a revision that was requested brings its own title.
  const isRenamed = artifact.title !== null && artifact.title !== base.title && !(generation.kind === 'message' && generation.asked);
  const page = isRenamed ? { ...base, title: artifact.title as string, titled: true } : base;
  if (generation.kind === 'refresh') return { status: 'composed', page, changes: [] };
  const { rows: agents } = await listAgentRows(trx, { teamId: artifact.team_id, automationId: undefined, limit: 1_000, offset: 0 });
  const { rows: queues } = await listQueueRows(trx, { teamId: artifact.team_id, automationId: undefined, limit: 1_000, offset: 0 });
  return compose({
    message: generation.text,
    page,
    answers: generation.answers,
    selected: generation.selected,
    names: { agents: byName(agents), queues: byName(queues) },
  });
}

const byName = (rows: readonly NamedResource[]): NamedResource[] =>
  rows.map(({ id, name }) => ({ id, name })).sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));

async function keepRevision(
  engine: HasClock,
  trx: Queries,
  artifact: ArtifactRow,
  result: { page: PageSpec; content: PageContent; parentId: string | null },
): Promise<string> {
  const id = newId();
  await insertArtifactRevision(
    trx,
    {
      id,
      artifact_id: artifact.id,
      parent_revision_id: result.parentId,
      restored_from_version: null,
      spec: JSON.stringify(result.page),
      content: JSON.stringify(result.content),
      created_at: isoTime(engine.clock.now()),
    },
    maxRevisions,
  );
  return id;
}

/** Writes in one transaction, unless this execution no longer owns the generation. */
async function write(
  engine: HasStore,
  job: JobRow,
  signal: AbortSignal,
  make: (trx: Queries, artifact: ArtifactRow) => Promise<ArtifactRow>,
): Promise<ArtifactRow | undefined> {
  if (signal.aborted) return undefined;
  return engine.store.transaction().execute(async (trx) => {
    await lockRows(trx, 'artifacts', [job.subject_id]);
    const artifact = (await holdsJob(trx, job)) ? await artifactById(trx, job.subject_id) : undefined;
    if (artifact === undefined || artifact.generation === null) return undefined;
    return make(trx, artifact);
  });
}

async function change(engine: HasClock, trx: Queries, row: ArtifactRow, changes: Updateable<ArtifactsTable>): Promise<ArtifactRow> {
  return requireRow(await changeArtifact(trx, row.id, { ...changes, updated_at: isoTime(engine.clock.now()) }, generatingStatuses));
}
