/** Imports the files of an export. The progress in the database says how many of the list are complete. */
import { createReadStream } from 'node:fs';
import path from 'node:path';
import type { FileStore } from '../files/file-store.ts';
import type { RecordedEntry } from '../sandbox/record/entries.ts';
import type { OpenBytes } from '../sandbox/record/fetch.ts';
import type { Queries } from '../store/database/database.ts';
import { writeProgress } from '../store/database/portable/import-progress.ts';
import type { ImportProgress, ImportTarget } from '../store/database/portable/portable-database.ts';
import { type CheckedExport, checkArchive, listedFiles, plainFile } from './check.ts';
import { fileListName, type ListedFile } from './format.ts';
import { damagedExport } from './problems.ts';
import type { MoveProgress } from './progress.ts';

/** A sandbox whose archive has been checked. */
export interface SandboxImport {
  id: string;
  entries: RecordedEntry[];
  /** Opens a range of the archive. */
  open: OpenBytes;
  signal: AbortSignal;
  /** Records that it is complete. */
  record(trx: Queries): Promise<void>;
}

export interface FileTargets {
  target: ImportTarget;
  files: FileStore;
  /** Imports a sandbox, or what is missing of it after an interruption, and calls `record` in its last transaction. */
  sandbox(sandbox: SandboxImport): Promise<void>;
}

/** How many files of runs may have to be imported again after a crash. */
const maxUnrecorded = 50;

export async function importFiles(
  { target, files, sandbox }: FileTargets,
  { folder }: CheckedExport,
  earlier: ImportProgress | undefined,
  { progress, signal }: { progress: MoveProgress; signal: AbortSignal },
): Promise<void> {
  const { store } = target;
  let [rows, recordedRows] = [earlier?.rows ?? 0, earlier?.rows ?? 0];
  const firstRow = rows;
  progress.enterFiles();
  const record = async (db: Queries, bytes: number): Promise<void> => writeProgress(db, { table: fileListName, bytes, rows });
  // From here on, the tables are as in the export.
  if (earlier === undefined) await record(store, 0);
  await target.upgrade();
  for await (const { file, end } of listedFiles(folder, earlier?.bytes)) {
    signal.throwIfAborted();
    rows += 1;
    if (file.sandboxId === undefined) {
      // What an attempt that was interrupted has put is not recorded.
      const mayExist = rows <= firstRow + maxUnrecorded || files.kind === 'folder';
      await importFile(files, folder, file, { mayExist, signal });
      if (rows - recordedRows >= maxUnrecorded) {
        await record(store, end);
        recordedRows = rows;
      }
    } else {
      const entries = await checkArchive(folder, file.sandboxId, file, signal);
      const archive = path.join(folder, file.path);
      const open: OpenBytes = async (_, range) => createReadStream(archive, range);
      await sandbox({ id: file.sandboxId, entries, open, signal, record: (trx) => record(trx, end) });
      recordedRows = rows;
    }
    progress.add(file.sandboxId === undefined ? 'files' : 'sandboxes', file.size);
  }
}

/** @throws AopsError `export_damaged` if the file was changed since it was checked */
async function importFile(
  files: FileStore,
  folder: string,
  { path: name, key, size, sha256 }: ListedFile & { key: string },
  { mayExist, signal }: { mayExist: boolean; signal: AbortSignal },
): Promise<void> {
  const file = plainFile(folder, name, size);
  if (mayExist) await files.deleteUnfinished([key]);
  const stored = await files.put(key, createReadStream(file, { highWaterMark: 262_144, signal }));
  if (stored.size !== size || stored.sha256 !== sha256) throw damagedExport(name, 'was changed meanwhile');
}
