/** Stores the pictures of screenshot events: first the bytes on disk, then the rows that refer to them. */
import { createHash } from 'node:crypto';
import type { Insertable } from 'kysely';
import type { FileStore } from '../../files/file-store.ts';
import { newId } from '../../ids.ts';
import type { RunPicture, RuntimeEvent } from '../../runtimes/runtime.ts';
import type { Queries } from '../../store/database/database.ts';
import type { RunFilesTable, RunRow } from '../../store/database/schema.ts';
import { filesOfEvents, insertRunFile } from '../../store/runs/run-files.ts';
import { insertToolExecution } from '../../store/runs/tool-executions.ts';

export type ScreenshotEvent = Extract<RuntimeEvent, { kind: 'screenshot' }>;
type RunTurn = Pick<RunRow, 'id' | 'turn'>;
/** A picture whose bytes are on disk. */
export type StoredPicture = Omit<Insertable<RunFilesTable>, 'created_at'>;

export const isScreenshot = (event: RuntimeEvent): event is ScreenshotEvent => event.kind === 'screenshot';

/** Writes the new pictures of events to disk. */
export async function storePictures(disk: FileStore, run: RunTurn, events: readonly ScreenshotEvent[]): Promise<StoredPicture[]> {
  const storedPictures: StoredPicture[] = [];
  for (const event of events) {
    for (const [eventId, picture] of [
      [beforeOf(event), event.before],
      [event.id, event.image],
    ] as const) {
      if (picture === undefined || 'of' in picture) continue;
      const id = newId();
      await disk.write(run.id, id, picture.bytes);
      storedPictures.push({
        id,
        run_id: run.id,
        turn: run.turn,
        event_id: eventId,
        name: picture.name,
        mime_type: picture.mimeType,
        size: picture.bytes.byteLength,
        sha256: createHash('sha256').update(picture.bytes).digest('hex'),
      });
    }
  }
  return storedPictures;
}

/** Records executions with their pictures. Those that the turn already has are skipped, and their pictures are returned as `duplicates`. */
export async function insertExecutions(
  trx: Queries,
  run: RunTurn,
  events: readonly ScreenshotEvent[],
  storedPictures: readonly StoredPicture[],
  now: string,
): Promise<{ recordedPictures: (StoredPicture & { created_at: string })[]; duplicates: StoredPicture[] }> {
  const recordedPictures = [];
  const duplicates = [];
  for (const picture of storedPictures) {
    const file = { ...picture, created_at: now };
    if (await insertRunFile(trx, file)) recordedPictures.push(file);
    else duplicates.push(picture);
  }
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
  return { recordedPictures, duplicates };
}

export async function removePictures(disk: FileStore, pictures: readonly StoredPicture[]): Promise<void> {
  for (const { run_id, id } of pictures) await disk.remove(run_id, id);
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
