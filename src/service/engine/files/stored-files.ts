/**
 * Files and the rows that refer to them. Bytes and rows cannot be changed by one transaction, so the keys of files without rows are
 * recorded (`store/files/unreferenced-files.ts`), and what a crash has left behind is removed by a sweep.
 */
import type { FileData, StoredFile } from '../../files/stored-file.ts';
import { errorFields } from '../../log.ts';
import type { Queries } from '../../store/database/database.ts';
import {
  deleteUnreferenced,
  insertNewFiles,
  insertRemovableFiles,
  overdueFiles,
  referToFiles,
  takeUnreferenced,
} from '../../store/files/unreferenced-files.ts';
import type { HasClock, HasFiles, HasLog, HasStore } from '../engine.ts';

/** Milliseconds that a file may take from its first byte until a row refers to it. */
const writeLimit = 24 * 60 * 60 * 1_000;
/** Milliseconds for which a file that nothing refers to any more is kept: other nodes may have begun to read it. */
const readLimit = 60 * 60 * 1_000;
/** Files removed at a time. */
const sweepSize = 500;

/** Something that is about to be stored. Part of the key is random. */
export interface NewFile {
  key: string;
  data: FileData;
}

/** A file was removed before anything referred to it, because that took longer than a day. Store it again. */
export class FilesRemovedError extends Error {
  constructor() {
    super('A stored file was removed because nothing referred to it for a day.');
    this.name = 'FilesRemovedError';
  }
}

/**
 * Stores files that nothing refers to yet. Pass their keys to `keepFiles` in the transaction that refers to them, or to `discardFiles`.
 * If one cannot be stored, none of them is.
 */
export async function storeFiles(engine: HasStore & HasClock & HasLog & HasFiles, newFiles: readonly NewFile[]): Promise<StoredFile[]> {
  const keys = newFiles.map(({ key }) => key);
  await insertNewFiles(engine.store, keys, engine.clock.now() + writeLimit);
  try {
    const storedFiles: StoredFile[] = [];
    for (const { key, data } of newFiles) storedFiles.push(await engine.files.put(key, data));
    return storedFiles;
  } catch (error) {
    await discardFiles(engine, keys);
    throw error;
  }
}

/** Call this in the transaction that refers to new files. @throws FilesRemovedError */
export async function keepFiles(trx: Queries, keys: readonly string[]): Promise<void> {
  if (!(await referToFiles(trx, keys))) throw new FilesRemovedError();
}

/**
 * Call this in the transaction that removes the last references to files. A sweep removes them an hour later, because another node may
 * be reading them; `discardFiles` removes them immediately.
 * @param now milliseconds
 */
export async function dropFiles(trx: Queries, keys: readonly string[], now: number): Promise<void> {
  await insertRemovableFiles(trx, keys, now + readLimit);
}

/**
 * Removes those of these files that nothing refers to, whatever has become of the transaction that should have referred to them. It
 * never fails: what cannot be removed now is removed by the sweep.
 */
export async function discardFiles(engine: HasStore & HasLog & HasFiles, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  try {
    const unreferenced = await engine.store.transaction().execute((trx) => takeUnreferenced(trx, keys));
    await engine.files.delete(unreferenced);
    await deleteUnreferenced(engine.store, unreferenced);
  } catch (error) {
    engine.log('warn', 'files could not be removed; this is repeated later', errorFields(error));
  }
}

/** Removes files that crashes have left behind. */
export async function sweepFiles(engine: HasStore & HasClock & HasFiles): Promise<void> {
  for (;;) {
    const keys = await overdueFiles(engine.store, engine.clock.now(), sweepSize);
    if (keys.length === 0) return;
    const unreferenced = await engine.store.transaction().execute((trx) => takeUnreferenced(trx, keys));
    await engine.files.deleteUnfinished(unreferenced);
    await deleteUnreferenced(engine.store, unreferenced);
  }
}
