/**
 * What people can do with generations of artifacts: create, message, answer, refresh, stop. Each change is one transaction; the
 * worker is woken afterwards. A generation that asks a question stays `running`, because the interface has no other status for it.
 */

import type { HumanQuestion, SelectedElement } from '../../../interface/types.ts';
import { notFound, ServiceError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { insertArtifactMessage } from '../../store/artifacts/artifact-messages.ts';
import { findArtifactRevision } from '../../store/artifacts/artifact-revisions.ts';
import { changeArtifact, freshArtifact, generatingStatuses, insertArtifact, isGenerating } from '../../store/artifacts/artifacts.ts';
import type { Queries } from '../../store/database/database.ts';
import type { ArtifactMessageRow, ArtifactRow } from '../../store/database/schema.ts';
import { isoTime } from '../../store/database/time.ts';
import { enqueueJob, revokeJob } from '../../store/jobs/jobs.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import type { HasClock, HasStore, HasWorker } from '../engine.ts';
import { readAnswer } from '../requests/answers.ts';
import { type Reader, requireArtifact } from './access.ts';
import { attachAll } from './connections.ts';

/** What is to be generated. Stored as JSON. */
export type Generation =
  | { kind: 'refresh' }
  | {
      kind: 'message';
      text: string;
      /** The revision that is changed; null for a new page. */
      from: string | null;
      /** Whether that revision was requested, instead of the current one. */
      asked: boolean;
      selected?: SelectedElement;
      /** Answers by the text of their questions. */
      answers: Record<string, string>;
    };

/** The question that a generation is waiting for. */
export interface Question {
  toolCallId: string;
  questions: HumanQuestion[];
}

export interface NewMessage {
  message: string;
  from_revision_id?: string;
  selected_element?: SelectedElement;
}

/** Creates a private artifact without a page, and starts its first generation. Throws 400 `invalid_request`, 400 `connection_not_found`. */
export async function createArtifact(
  engine: HasStore & HasClock & HasWorker,
  reader: Reader,
  text: string,
  connectionIds: readonly string[] = [],
): Promise<{ artifact: ArtifactRow; message: ArtifactMessageRow }> {
  requireText(text);
  const result = await engine.store.transaction().execute(async (trx) => {
    const artifact = await insertNewArtifact(engine, trx, reader);
    await attachAll(engine, trx, reader.teamId, artifact.id, connectionIds);
    return startFromMessage(engine, trx, artifact, reader, { message: text });
  });
  engine.worker.wake();
  return result;
}

/** Creates an artifact for the run of an agent, within its transaction: people of the team can see and change it. Throws 400 `invalid_request`. */
export async function createForRun(engine: HasClock, trx: Queries, reader: Reader, text: string): Promise<ArtifactRow> {
  requireText(text);
  const artifact = await insertNewArtifact(engine, trx, reader, { visibility: 'team', publish_permission: 'edit' });
  return (await startFromMessage(engine, trx, artifact, reader, { message: text })).artifact;
}

/**
 * Starts a generation for the run of an agent, within its transaction. An agent that was misunderstood describes again what it wants,
 * instead of answering questions. Throws 400 `invalid_request`, 409 `artifact_generating`.
 */
export async function messageForRun(
  engine: HasClock,
  trx: Queries,
  reader: Reader,
  artifact: ArtifactRow,
  text: string,
): Promise<ArtifactRow> {
  requireText(text);
  if (artifact.question === null) requireIdle(artifact);
  return (await startFromMessage(engine, trx, artifact, reader, { message: text })).artifact;
}

const insertNewArtifact = (
  engine: HasClock,
  trx: Queries,
  reader: Reader,
  publication: Partial<Pick<ArtifactRow, 'visibility' | 'publish_permission'>> = {},
): Promise<ArtifactRow> =>
  insertArtifact(trx, {
    id: newId(),
    team_id: reader.teamId,
    created_by: reader.credentialId,
    title: null,
    status: 'not_started',
    ...freshArtifact(isoTime(engine.clock.now())),
    ...publication,
  });

/** Starts a generation from a message. Throws 404, 403, 400 `invalid_request`, 409 `artifact_generating`. */
export async function messageArtifact(
  engine: HasStore & HasClock & HasWorker,
  reader: Reader,
  id: string,
  input: NewMessage,
): Promise<ArtifactMessageRow> {
  requireText(input.message);
  const { message } = await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id, 'edit');
    requireIdle(artifact);
    return startFromMessage(engine, trx, artifact, reader, input);
  });
  engine.worker.wake();
  return message;
}

async function startFromMessage(engine: HasClock, trx: Queries, artifact: ArtifactRow, reader: Reader, input: NewMessage) {
  const { message: text, from_revision_id: requestedId, selected_element: selectedElement } = input;
  const from = requestedId === undefined ? artifact.current_revision_id : requestedId;
  if (requestedId !== undefined && (await findArtifactRevision(trx, artifact.id, requestedId)) === undefined)
    throw notFound('revision', requestedId);
  const message = await insertArtifactMessage(trx, {
    id: newId(),
    artifact_id: artifact.id,
    author_user_id: reader.credentialId,
    role: 'user',
    content: text,
    message: null,
    revision_id: from,
    selected_element: selectedElement === undefined ? null : JSON.stringify(selectedElement),
    created_at: isoTime(engine.clock.now()),
  });
  const generation: Generation = {
    kind: 'message',
    text,
    from,
    asked: requestedId !== undefined,
    ...(selectedElement && { selected: selectedElement }),
    answers: {},
  };
  return { artifact: await start(engine, trx, artifact, generation), message };
}

/** Generates the page again from the current data. Throws 404, 403, 409 `artifact_empty`, 409 `artifact_generating`. */
export async function refreshArtifact(engine: HasStore & HasClock & HasWorker, reader: Reader, id: string): Promise<ArtifactRow> {
  const startedRow = await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id, 'edit');
    requireIdle(artifact);
    if (artifact.current_revision_id === null) throw artifactEmpty('refresh');
    return start(engine, trx, artifact, { kind: 'refresh' });
  });
  engine.worker.wake();
  return startedRow;
}

/** Queues a generation. Call it in a transaction, and wake the worker afterwards. */
export async function start(engine: HasClock, trx: Queries, artifact: ArtifactRow, generation: Generation): Promise<ArtifactRow> {
  const now = engine.clock.now();
  await enqueueJob(trx, { kind: jobKinds.artifact, subjectId: artifact.id, dueAt: now });
  return requireRow(
    await changeArtifact(trx, artifact.id, {
      status: 'pending',
      generation: JSON.stringify(generation),
      question: null,
      updated_at: isoTime(now),
    }),
  );
}

/** Answers the questions of a generation, which then continues. Throws 404, 403, 409 `question_not_pending`, 400 `invalid_answer`. */
export async function answerQuestion(
  engine: HasStore & HasClock & HasWorker,
  reader: Reader,
  id: string,
  input: { toolCallId: string; answers: Record<string, unknown> },
): Promise<void> {
  await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id, 'edit');
    const question = artifact.question === null ? undefined : (JSON.parse(artifact.question) as Question);
    if (question === undefined || question.toolCallId !== input.toolCallId) {
      const state = question === undefined ? 'no question is pending' : `the pending one is ${question.toolCallId}`;
      throw new ServiceError(409, 'question_not_pending', `The question ${input.toolCallId} is no longer pending: ${state}.`);
    }
    const { questions } = question;
    const { answer, message } = readAnswer(
      { type: 'question', title: questions[0]?.question ?? '', questions },
      { answers: texts(input.answers) },
    );
    const answers = (answer.type === 'question' ? answer.answers : {}) as Record<string, string>;
    const generation = JSON.parse(artifact.generation as string) as Extract<Generation, { kind: 'message' }>;
    await insertArtifactMessage(trx, {
      id: newId(),
      artifact_id: artifact.id,
      author_user_id: reader.credentialId,
      role: 'user',
      content: message,
      message: JSON.stringify({ type: 'answer', toolCallId: question.toolCallId, answers }),
      revision_id: artifact.current_revision_id,
      selected_element: null,
      created_at: isoTime(engine.clock.now()),
    });
    await start(engine, trx, artifact, { ...generation, answers: { ...generation.answers, ...answers } });
  });
  engine.worker.wake();
}

/** Answers as texts. Anything else fits no question, and is reported with the other problems. */
const texts = (answers: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(answers).map(([question, answer]) => [question, typeof answer === 'string' ? answer : JSON.stringify(answer)]),
  );

/** Ends a generation; the page stays unchanged. Does nothing if the artifact is idle. Throws 404, 403. */
export async function stopArtifact(
  engine: HasStore & HasClock & HasWorker,
  reader: Reader,
  id: string,
  partialText: string | undefined,
): Promise<ArtifactRow> {
  const stoppedRow = await engine.store.transaction().execute(async (trx) => {
    const artifact = await requireArtifact(trx, reader, id, 'edit');
    if (!isGenerating(artifact)) return artifact;
    await revokeJob(trx, jobKinds.artifact, artifact.id);
    const now = isoTime(engine.clock.now());
    if (partialText !== undefined && partialText.trim() !== '') {
      await insertArtifactMessage(trx, {
        ...{ id: newId(), artifact_id: artifact.id, author_user_id: null, role: 'assistant', content: partialText },
        message: JSON.stringify({ type: 'partial' }),
        ...{ revision_id: null, selected_element: null, created_at: now },
      });
    }
    const changes = { status: 'interrupted', generation: null, question: null, updated_at: now } as const;
    return requireRow(await changeArtifact(trx, artifact.id, changes, generatingStatuses));
  });
  engine.worker.abort(jobKinds.artifact, stoppedRow.id, 'stopped');
  return stoppedRow;
}

/** Throws 409 `artifact_generating`. */
export function requireIdle(artifact: ArtifactRow): void {
  if (!isGenerating(artifact)) return;
  const isAsking = artifact.question !== null;
  const state = isAsking ? 'is waiting for an answer' : `is ${artifact.status}`;
  const advice = isAsking ? 'Answer its question, or stop it first.' : 'Wait until it ends, or stop it first.';
  throw new ServiceError(409, 'artifact_generating', `A generation of this artifact ${state}. ${advice}`);
}

export const artifactEmpty = (to: string): ServiceError =>
  new ServiceError(409, 'artifact_empty', `There is no page to ${to} yet, because no generation has completed.`);

function requireText(text: string): void {
  if (text.trim() !== '') return;
  throw new ServiceError(400, 'invalid_request', 'message must not be empty.', {
    details: [{ path: 'message', message: 'must not be empty' }],
  });
}

/** A row that was read in the same transaction cannot have changed in the meantime. */
export function requireRow(row: ArtifactRow | undefined): ArtifactRow {
  if (row === undefined) throw new Error('the artifact has changed within the transaction');
  return row;
}
