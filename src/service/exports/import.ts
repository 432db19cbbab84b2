/** Imports an export into an empty database. An import that was interrupted continues where it stopped. */
import path from 'node:path';
import type { Queries } from '../store/database/database.ts';
import { writeProgress } from '../store/database/portable/import-progress.ts';
import type { ImportProgress, ImportTarget, TableShape } from '../store/database/portable/portable-database.ts';
import { insertRows } from '../store/database/portable/rows.ts';
import type { CheckedExport } from './check.ts';
import { fileListName, type TableEntry, tableFileName } from './format.ts';
import { type FileTargets, importFiles } from './import-files.ts';
import { lineBatches } from './lines.ts';
import { damagedExport, faultyImport, otherImport } from './problems.ts';
import type { MoveProgress } from './progress.ts';
import { linesInDatabase, rowOf } from './table-lines.ts';

export interface ImportOptions extends FileTargets {
  source: CheckedExport;
  progress: MoveProgress;
  signal: AbortSignal;
  /** Does the rest in the transaction that makes the database usable. */
  atEnd(db: Queries): Promise<void>;
}

/**
 * Imports the rows, compares all of them with the export, and imports the files. Resolves to whether an earlier attempt was continued.
 * @throws AopsError `import_differs`, `import_faulty`, `export_damaged`
 */
export async function importDatabase(options: ImportOptions): Promise<{ continued: boolean }> {
  const { target, source, progress } = options;
  const earlier = await target.progress();
  if (earlier !== undefined && earlier.export !== source.digest) throw otherImport();
  const hasTables = earlier?.table === fileListName;
  if (hasTables) for (const { name, rows } of source.manifest.tables) progress.enter(name, rows);
  else await importTables(earlier, options);
  await importFiles(options, source, hasTables ? earlier : undefined, options);
  await target.finish((db) => options.atEnd(db));
  return { continued: earlier !== undefined };
}

async function importTables(earlier: ImportProgress | undefined, options: ImportOptions): Promise<void> {
  const { target, source, progress, signal } = options;
  const { manifest, digest } = source;
  await target.begin(digest, manifest.schema);
  const completeCount = manifest.tables.findIndex(({ name }) => name === earlier?.table);
  for (const [index, entry] of manifest.tables.entries()) {
    progress.enter(entry.name, index < completeCount ? entry.rows : 0);
    if (index < completeCount) continue;
    const shape = await shapeIn(target, entry);
    await importTable(shape, entry, index === completeCount ? earlier : undefined, options);
  }
  await target.snapshot(async (db) => {
    for (const entry of manifest.tables) {
      const shape = await shapeIn(target, entry);
      const found = await linesInDatabase(db, shape, () => signal.throwIfAborted());
      if (found.sha256 !== entry.sha256) throw faultyImport(`the table ${entry.name}`);
    }
  });
}

/** @throws AopsError `export_damaged` if the export has other columns than the tables of its schema */
async function shapeIn({ store, shapeOf }: ImportTarget, { name, columns }: TableEntry): Promise<TableShape> {
  const shape = await shapeOf(store, name);
  if (shape !== undefined && shape.columns.join() === columns.join()) return shape;
  throw damagedExport(tableFileName(name), 'does not have the columns of its schema');
}

async function importTable(
  shape: TableShape,
  entry: TableEntry,
  earlier: ImportProgress | undefined,
  { target, source, progress, signal }: ImportOptions,
): Promise<void> {
  let rows = earlier?.rows ?? 0;
  progress.advance(rows);
  for await (const { lines, end } of lineBatches(path.join(source.folder, tableFileName(entry.name)), earlier?.bytes)) {
    signal.throwIfAborted();
    const batch = lines.map((line) => rowOf(entry, line));
    rows += batch.length;
    await target.store.transaction().execute(async (trx) => {
      await insertRows(trx, shape, batch);
      await writeProgress(trx, { table: entry.name, bytes: end, rows });
    });
    progress.advance(batch.length);
  }
}
