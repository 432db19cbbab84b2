/** Exports a database. An export that was interrupted continues where it stopped, unless a service has used the database since. */
import { randomUUID } from 'node:crypto';
import { version } from '../../base/version.ts';
import { writeFailure } from '../../base/write-failure.ts';
import type { Problem } from '../backup/progress.ts';
import type { Queries } from '../store/database/database.ts';
import { exportMark, removeExportMark, setExportMark } from '../store/database/portable/export-mark.ts';
import type { TableShape } from '../store/database/portable/portable-database.ts';
import { countRows, type Key, keyOf, type Row, rowPages } from '../store/database/portable/rows.ts';
import { exportedTables } from '../store/database/portable/tables.ts';
import { Checkpoints } from './checkpoints.ts';
import { exportFiles, type FileExportOptions, type FileSources } from './export-files.ts';
import { ExportFolder, type ExportProgress } from './export-folder.ts';
import { formatVersion, type Manifest, type TableEntry, tableFileName } from './format.ts';
import { LineWriter } from './lines.ts';
import { outdatedExport, unreadableRows } from './problems.ts';
import { lineOf } from './table-lines.ts';

export interface ExportOptions extends FileSources, FileExportOptions {
  folder: string;
  /** The fingerprint of the key for secrets; null if there is none. */
  secretKey: string | null;
  /** How many bytes of a table may have to be written again after a crash. */
  checkpointBytes?: number;
}

const defaultCheckpoint = 16 * 1_048_576;

/**
 * Writes an export. Resolves to its manifest when everything is on the disk.
 * @throws AopsError `export_exists`, `folder_not_empty`, `export_running`, `export_outdated`, `export_file_missing`, `not_writable`, `disk_full`
 */
export async function exportDatabase(options: ExportOptions): Promise<{ manifest: Manifest; problems: readonly Problem[] }> {
  const { source, signal, secretKey } = options;
  const folder = await ExportFolder.open(options.folder, signal);
  try {
    const state = await beginOrContinue(source, folder);
    const checkpoints = new Checkpoints(folder, options.checkpointBytes ?? defaultCheckpoint);
    const files = await source.snapshot(async (db) => {
      await exportTables(db, { folder, state, checkpoints }, options);
      return exportFiles(db, options, { folder, state, checkpoints }, options);
    });
    if ((await exportMark(source.store)) !== state.mark) throw outdatedExport();
    const { schema, tables, problems } = state;
    const manifest: Manifest = { format: formatVersion, version, schema, secret_key: secretKey, tables, files };
    await folder.complete(manifest);
    await removeExportMark(source.store);
    return { manifest, problems };
  } catch (error) {
    throw writeFailure(error, options.folder);
  } finally {
    folder.close();
  }
}

/** The progress of an attempt whose rows are still those of the database, or that of a new one. */
async function beginOrContinue({ store, schema }: FileSources['source'], folder: ExportFolder): Promise<ExportProgress> {
  const earlier = await folder.progress();
  const mark = await exportMark(store);
  if (earlier !== undefined && earlier.mark === mark && earlier.schema === schema) return earlier;
  const state: ExportProgress = { format: formatVersion, mark: randomUUID(), schema, tables: [], problems: [] };
  await folder.clear(state);
  await setExportMark(store, state.mark);
  return state;
}

async function exportTables(db: Queries, { folder, state, checkpoints }: ExportParts, options: ExportOptions): Promise<void> {
  for (const name of exportedTables) {
    const shape = await options.source.shapeOf(db, name);
    if (shape === undefined) continue;
    const complete = state.tables.find((entry) => entry.name === name);
    options.progress.enter(name, complete?.rows ?? 0);
    if (complete !== undefined) continue;
    state.tables.push(await exportTable(db, shape, { folder, state, checkpoints }, options));
    delete state.current;
    await checkpoints.saveIfDue(state);
  }
  await folder.save(state);
}

interface ExportParts {
  folder: ExportFolder;
  state: ExportProgress;
  checkpoints: Checkpoints;
}

async function exportTable(
  db: Queries,
  shape: TableShape,
  { folder, state, checkpoints }: ExportParts,
  { progress, signal }: ExportOptions,
): Promise<TableEntry> {
  const start = state.current?.table === shape.name ? state.current : { bytes: 0, rows: 0, last: undefined };
  const writer = await LineWriter.open(folder.file(tableFileName(shape.name)), { bytes: start.bytes, rows: start.rows });
  try {
    progress.advance(start.rows);
    for await (const rows of rowPages(db, shape, start.last)) {
      signal.throwIfAborted();
      checkpoints.add(await writer.write(rows.map((row) => lineOf(shape, row))));
      if (checkpoints.isDue) {
        await writer.sync();
        state.current = { table: shape.name, ...writer.position, last: lastKey(shape, rows) };
        await checkpoints.saveIfDue(state);
      }
      progress.advance(rows.length);
    }
    const entry = await writer.end();
    const count = await countRows(db, shape);
    if (count !== entry.rows) throw unreadableRows(shape.name, count, entry.rows);
    return { name: shape.name, columns: [...shape.columns], ...entry };
  } finally {
    await writer.close();
  }
}

const lastKey = (shape: TableShape, rows: readonly Row[]): Key => keyOf(shape, rows.at(-1) as Row);
