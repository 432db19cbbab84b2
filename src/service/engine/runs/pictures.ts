/** Stores the pictures of screenshot events: first their bytes, then the rows that refer to them. */
import type { Insertable } from 'kysely';
import type { StoredFile } from '../../files/stored-file.ts';
import { newId } from '../../ids.ts';
import type { RunPicture, RuntimeEvent } from '../../runtimes/run-host.ts';
import type { Queries } from '../../store/database/database.ts';
import type { RunFilesTable, RunRow } from '../../store/database/schema.ts';
import { filesOfEvents, insertRunFile, runFileKey } from '../../store/runs/run-files.ts';
import { insertToolExecution } from '../../store/runs/tool-executions.ts';
import type { HasClock, HasFiles, HasLog, HasStore } from '../engine.ts';
import { keepFiles, storeFiles } from '../files/stored-files.ts';

export type ScreenshotEvent = Extract<RuntimeEvent, { kind: 'screenshot' }>;
type RunTurn = Pick<RunRow, 'id' | 'turn'>;
/** A picture whose bytes are stored. */
export type StoredPicture = Omit<Insertable<RunFilesTable>, 'created_at'>;

export const isScreenshot = (event: RuntimeEvent): event is ScreenshotEvent => event.kind === 'screenshot';

/** Stores the bytes of the new pictures of events. */
export async function storePictures(
  engine: HasStore & HasClock & HasLog & HasFiles,
  run: RunTurn,
  events: readonly ScreenshotEvent[],
): Promise<StoredPicture[]> {
  const pictures = events.flatMap((event) =>
    (
      [
        [beforeOf(event), event.before],
        [event.id, event.image],
      ] as const
    ).flatMap(([eventId, picture]) => (picture === undefined || 'of' in picture ? [] : [{ eventId, picture, id: newId() }])),
  );
  if (pictures.length === 0) return [];
  const storedFiles = await storeFiles(
    engine,
    pictures.map(({ id, picture }) => ({ key: runFileKey({ id, run_id: run.id }), data: picture.bytes })),
  );
  return pictures.map(({ id, eventId, picture }, index) => {
    const { size, sha256 } = storedFiles[index] as StoredFile;
    return { id, run_id: run.id, turn: run.turn, event_id: eventId, name: picture.name, mime_type: picture.mimeType, size, sha256 };
  });
}

/** Records executions with their pictures, and returns these. Those that the turn already has are skipped; nothing refers to their pictures. */
export async function insertExecutions(
  trx: Queries,
  run: RunTurn,
  events: readonly ScreenshotEvent[],
  storedPictures: readonly StoredPicture[],
  now: string,
): Promise<(StoredPicture & { created_at: string })[]> {
  const recordedPictures = [];
  for (const picture of storedPictures) {
    const file = { ...picture, created_at: now };
    if (await insertRunFile(trx, file)) recordedPictures.push(file);
  }
  if (recordedPictures.length > 0) await keepFiles(trx, recordedPictures.map(runFileKey));
  const namedPictures = events.flatMap((event) => [nameOf(beforeOf(event), event.before), nameOf(event.id, event.image)]);
  const files = await filesOfEvents(trx, run.id, run.turn, [...new Set(namedPictures.filter((name) => name !== undefined))]);
  const idOf = (name: string | undefined): string | null => files.find(({ event_id }) => event_id === name)?.id ?? null;
  for (const event of events) {
    await insertToolExecution(trx, {
      id: newId(),
      run_id: run.id,
      turn: run.turn,
      event_id: event.id,
      tool_name: event.toolName,
      action: event.action ?? null,
      input: event.input === undefined ? null : JSON.stringify(event.input),
      error: event.error ?? null,
      started_at: event.startedAt.toISOString(),
      ended_at: event.endedAt?.toISOString() ?? now,
      before_file_id: idOf(nameOf(beforeOf(event), event.before)),
      after_file_id: idOf(nameOf(event.id, event.image)),
    });
  }
  return recordedPictures;
}

/** Adds the run file of a picture to the result of the call that took it: its ID is needed for the download. */
export function namingPicture<Event extends RuntimeEvent>(event: Event, storedPictures: readonly StoredPicture[]): Event {
  const file = event.kind === 'tool_result' ? storedPictures.find(({ event_id }) => event_id === event.screenshot) : undefined;
  return file === undefined ? event : { ...event, result: { ...(event as { result?: object }).result, file_id: file.id, name: file.name } };
}

/** The event ID under which a picture's file is recorded. */
const nameOf = (pictureId: string, picture: RunPicture | undefined): string | undefined =>
  picture === undefined ? undefined : 'of' in picture ? picture.of : pictureId;
const beforeOf = (event: ScreenshotEvent): string => `${event.id}:before`;
