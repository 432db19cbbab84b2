/** The files of an export: those of runs, and an archive of each sandbox. An attempt that was interrupted continues after the last one in the list. */
import { createHash } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { DamagedFileError, type FileStore } from '../files/file-store.ts';
import type { Queries } from '../store/database/database.ts';
import type { ExportSource } from '../store/database/portable/portable-database.ts';
import { type Row, rowPages } from '../store/database/portable/rows.ts';
import { runFileKey } from '../store/runs/run-files.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { ExportFolder, ExportProgress } from './export-folder.ts';
import { archiveName, type FileEntry, fileListName, type LinesEntry, runFileName } from './format.ts';
import { LineWriter } from './lines.ts';
import { missingFile } from './problems.ts';
import type { MoveProgress } from './progress.ts';
import { archiveBytes } from './sandbox-archive.ts';
import {
  type Chunks,
  DamagedContentError,
  placeOf,
  type SandboxContents,
  type SandboxFacts,
  type SandboxSource,
} from './sandbox-contents.ts';

export interface FileSources {
  source: ExportSource;
  files: FileStore;
  sandboxes(db: Queries): SandboxSource;
}

export interface FileExportOptions {
  progress: MoveProgress;
  signal: AbortSignal;
  /** Whether files that are missing or damaged are left out. */
  skipMissing: boolean;
}

/** Counts for a file in addition to its bytes: even an empty one takes time to write again. */
const bytesPerFile = 65_536;

/** @throws AopsError `export_file_missing` */
export async function exportFiles(
  db: Queries,
  sources: FileSources,
  { folder, state, checkpoints }: { folder: ExportFolder; state: ExportProgress; checkpoints: Checkpoints },
  options: FileExportOptions,
): Promise<LinesEntry & { content_bytes: number }> {
  const { progress } = options;
  state.files ??= { bytes: 0, rows: 0, content_bytes: 0, sandboxes: 0, part: 'run_files', after: null };
  const place = state.files;
  const writer = await LineWriter.open(folder.file(fileListName), place);
  progress.enterFiles({ files: place.rows - place.sandboxes, sandboxes: place.sandboxes, bytes: place.content_bytes });
  const add = async (part: 'run_files' | 'sandboxes', id: string, entry: FileEntry | undefined): Promise<void> => {
    if (entry !== undefined) {
      await writer.write([JSON.stringify(entry)]);
      place.content_bytes += entry.size;
      if (part === 'sandboxes') place.sandboxes += 1;
      checkpoints.add(entry.size + bytesPerFile);
    }
    Object.assign(place, { part, after: id });
    if (checkpoints.isDue) {
      await folder.syncNames();
      await writer.sync();
      Object.assign(place, writer.position);
      await checkpoints.saveIfDue(state);
    }
    if (entry !== undefined) progress.add(part === 'sandboxes' ? 'sandboxes' : 'files', entry.size);
  };
  const copier = new FileCopier(folder, sources.files, state, options);
  try {
    if (place.part === 'run_files')
      for await (const row of rowsAfter(db, sources.source, 'run_files', place.after, options.signal))
        await add('run_files', row.id as string, await copier.runFile(row));
    const after = place.part === 'sandboxes' ? place.after : null;
    const contentsOf = sources.sandboxes(db);
    for await (const row of rowsAfter(db, sources.source, 'sandboxes', after, options.signal))
      if (row.removed_at === null)
        await add('sandboxes', row.id as string, await copier.sandbox(row as unknown as SandboxFacts, contentsOf));
    await folder.syncNames();
    return { ...(await writer.end()), content_bytes: place.content_bytes };
  } finally {
    await writer.close();
  }
}

async function* rowsAfter(
  db: Queries,
  source: ExportSource,
  table: string,
  after: string | null,
  signal: AbortSignal,
): AsyncGenerator<Row> {
  const shape = await source.shapeOf(db, table);
  if (shape === undefined) return;
  for await (const rows of rowPages(db, shape, after === null ? undefined : [after]))
    for (const row of rows) {
      signal.throwIfAborted();
      yield row;
    }
}

class FileCopier {
  readonly #folder: ExportFolder;
  readonly #files: FileStore;
  readonly #state: ExportProgress;
  readonly #options: FileExportOptions;

  constructor(folder: ExportFolder, files: FileStore, state: ExportProgress, options: FileExportOptions) {
    this.#folder = folder;
    this.#files = files;
    this.#state = state;
    this.#options = options;
  }

  /** Undefined if it was left out. */
  async runFile(row: Row): Promise<FileEntry | undefined> {
    const { id, run_id, size, sha256 } = row as { id: string; run_id: string; size: number; sha256: string };
    const key = runFileKey({ id, run_id });
    const name = runFileName(key);
    const stream = await this.#files.open({ key, size, sha256 });
    if (stream === undefined) return this.#leaveOut(name, 'is missing', 'is not in the file store');
    try {
      return { path: name, ...(await this.#write(name, stream)) };
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error;
      await rm(this.#folder.file(name), { force: true });
      return this.#leaveOut(name, 'is damaged', 'is damaged in the file store');
    }
  }

  async sandbox(facts: SandboxFacts, contentsOf: SandboxSource): Promise<FileEntry> {
    const name = archiveName(facts.id);
    const leftOut = new Set<string>();
    for (;;) {
      const contents = await contentsOf(facts);
      const entries = contents.entries.filter((entry) => !leftOut.has(placeOf(facts.id, entry.name)));
      try {
        const written = await this.#write(name, archiveBytes({ ...contents, entries }));
        for (const problem of contents.problems) this.#report(problem.path, problem.problem);
        return { path: name, ...written };
      } catch (error) {
        if (!(error instanceof DamagedContentError)) throw error;
        const leaveOut = ({ file, problem }: DamagedContentError): void => {
          this.#leaveOut(file, problem, 'is damaged or missing in the file store');
          leftOut.add(file);
        };
        leaveOut(error);
        // All of them are found at once, because each attempt reads the sandbox from its start.
        const otherEntries = entries.filter((entry) => placeOf(facts.id, entry.name) !== error.file);
        for (const damage of await this.#damageIn({ ...contents, entries: otherEntries })) leaveOut(damage);
      }
    }
  }

  /** The damaged files of a sandbox. */
  async #damageIn({ entries, open }: SandboxContents): Promise<DamagedContentError[]> {
    const damage: DamagedContentError[] = [];
    for (const entry of entries) {
      this.#options.signal.throwIfAborted();
      if (entry.type !== 'file') continue;
      try {
        for await (const _ of (await open(entry)) ?? []);
      } catch (error) {
        if (!(error instanceof DamagedContentError)) throw error;
        damage.push(error);
      }
    }
    return damage;
  }

  /** @throws AopsError `export_file_missing` unless such files are left out */
  #leaveOut(name: string, problem: string, report: string): undefined {
    if (!this.#options.skipMissing) throw missingFile(name, problem);
    this.#report(name, `it ${report}, so it is left out`);
    return undefined;
  }

  #report(place: string, problem: string): void {
    this.#state.problems.push({ path: place, problem });
  }

  /** Writes a file, which is on the disk afterwards; its name is once the names are. */
  async #write(name: string, chunks: Chunks): Promise<{ size: number; sha256: string }> {
    const { signal } = this.#options;
    const file = this.#folder.file(name);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    this.#folder.touchNames(path.dirname(file));
    const hash = createHash('sha256');
    let size = 0;
    const handle = await open(file, 'w', 0o600);
    try {
      for await (const chunk of chunks) {
        signal.throwIfAborted();
        hash.update(chunk);
        size += chunk.length;
        await handle.writeFile(chunk);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    return { size, sha256: hash.digest('hex') };
  }
}
