/** Exports and imports of the data of a service, for the commands; loaded when one of them runs. */
import path from 'node:path';
import { AopsError } from '../../base/errors.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Problem } from '../backup/progress.ts';
import type { SecretBox } from '../secret-box.ts';
import type { SecretKey } from '../shared-secrets.ts';
import { checkExport } from './check.ts';
import { type ExportOptions, exportDatabase } from './export.ts';
import type { Manifest } from './format.ts';
import { importDatabase } from './import.ts';
import { isNew, keyFile, keyOf, openEmptyPlace, openPlace, type Place } from './places.ts';
import type { MoveProgress } from './progress.ts';

export type { Problem } from '../backup/progress.ts';
export type { DatabasePlace, DirectoryPlace, Place } from './places.ts';
export { MoveProgress } from './progress.ts';

/** What exports and imports have in common. */
export interface MoveOptions {
  folder: string;
  /** The key for secrets, and what to call the place that it is from. Data directories that are exported contain theirs. */
  key: SecretKey | undefined;
  progress: MoveProgress;
  signal: AbortSignal;
}

/** An export that was written or read. */
export interface Moved {
  manifest: Manifest;
  /** The data directory, or `host:port/database`. */
  place: string;
}

/** @throws AopsError what `openPlace` and `exportDatabase` do */
export async function exportData(
  place: Place,
  { folder, key, ...options }: MoveOptions & Pick<ExportOptions, 'skipMissing' | 'checkpointBytes'>,
): Promise<Moved & { problems: readonly Problem[]; keyFile: string | null }> {
  const opened = await openPlace(place, key);
  try {
    const exported = await exportDatabase({ ...opened, ...options, folder });
    const hasKeyFile = 'directory' in place && opened.secretKey !== null;
    return { ...exported, place: opened.source.inWords, keyFile: hasKeyFile ? path.join(place.directory, keyFile) : null };
  } finally {
    await opened.close();
  }
}

/** Only checks an export. @throws AopsError what `checkExport` does */
export async function verifyExport({ folder, progress, signal }: Omit<MoveOptions, 'key'>): Promise<Manifest> {
  return (await checkExport(folder, { progress, signal })).manifest;
}

/**
 * Checks an export, and imports it. Nothing is written before everything has been checked.
 * @param options `checked` counts what is read, and `progress` what is imported
 * @throws AopsError what `checkExport`, `openEmptyPlace`, and `importDatabase` do, `secret_key_required`, `secret_key_mismatch`
 */
export async function importData(
  place: Place,
  { folder, key, checked, progress, signal }: MoveOptions & { checked: MoveProgress },
): Promise<Moved & { continued: boolean }> {
  // A database in a new directory would have to be removed if the export cannot be used.
  let opened = (await isNew(place)) ? undefined : await openEmptyPlace(place);
  let box: SecretBox | undefined;
  try {
    const onManifest = ({ secret_key }: Manifest): void => {
      box = keyOf(secret_key, key);
    };
    const source = await checkExport(folder, { progress: checked, signal, onManifest });
    opened ??= await openEmptyPlace(place);
    const { keepKey, ...targets } = opened;
    const atEnd: Parameters<typeof importDatabase>[0]['atEnd'] = async (db) => {
      if (box !== undefined && key !== undefined) await keepKey(db, box, key.text);
    };
    const { continued } = await importDatabase({ ...targets, source, progress, signal, atEnd });
    return { manifest: source.manifest, place: opened.target.inWords, continued };
  } catch (error) {
    throw error instanceof AopsError || !('directory' in place) ? error : writeFailure(error, place.directory);
  } finally {
    await opened?.close();
  }
}
