/** The files of a sandbox on this node: the folders, and which version of the record they are equal to. */
import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError } from '../../errors.ts';
import { errorFields } from '../../log.ts';
import { byPath, type KnownEntry, type RecordedEntry } from '../../sandbox/record/entries.ts';
import { fetchFiles, StoredFileMissingError } from '../../sandbox/record/fetch.ts';
import { stampOf } from '../../sandbox/record/scan.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { recordedEntries, workspaceState } from '../../store/runs/workspace-files.ts';
import { workspacePath } from './recorded-tree.ts';
import { type BytesEngine, openBytes } from './stored-bytes.ts';

/** How often files are restored whose record changes meanwhile. */
const maxAttempts = 5;

export class LocalCopy {
  readonly sandbox: Sandbox;
  readonly #engine: BytesEngine;
  #version = 0;
  #known = new Map<string, KnownEntry>();

  constructor(engine: BytesEngine, sandbox: Sandbox) {
    this.#engine = engine;
    this.sandbox = sandbox;
  }

  /** The version of the record whose changes this contains. */
  get version(): number {
    return this.#version;
  }

  get known(): ReadonlyMap<string, KnownEntry> {
    return this.#known;
  }

  /** Makes the folders equal to the record. No program of a run may work in them. @param version that of the record, or an earlier one */
  async restore(version: number, signal: AbortSignal): Promise<void> {
    const { store } = this.#engine;
    for (let attempt = 1; ; attempt++) {
      // What is newer than this version is read again with the next changes.
      const state = version === 0 ? undefined : await workspaceState(store, this.sandbox.id);
      const entries = version === 0 ? [] : await recordedEntries(store, this.sandbox.id);
      try {
        this.#known = await this.sandbox.restore(entries, { open: openBytes(this.#engine), known: this.#known, signal });
        this.#version = state?.version ?? version;
        return;
      } catch (error) {
        if (!(error instanceof StoredFileMissingError) || attempt === maxAttempts) throw error;
      }
    }
  }

  /** Writes what other nodes have added to the record: files that were uploaded. Programs can work in the folders meanwhile. */
  async pull(): Promise<void> {
    const { store, log } = this.#engine;
    const { id } = this.sandbox;
    const state = await workspaceState(store, id);
    if (state === undefined || state.version === this.#version) return;
    const entries = await recordedEntries(store, id, this.#version);
    for (const entry of entries.sort(byPath)) {
      if (isSame(this.#known.get(entry.path)?.entry, entry)) continue;
      // What a later scan finds there instead of this is a change.
      let known: KnownEntry = { entry, stamp: undefined };
      try {
        known = await this.#add(entry);
      } catch (error) {
        // It is not known then: the next pull adds it, and until then its absence is no change.
        if (!(error instanceof ServiceError)) throw error;
        // The run has put something else there, which the next step records in place of the upload.
        log('warn', 'an uploaded file was replaced by the run', { sandbox: id, path: entry.path, ...errorFields(error) });
      }
      this.#known.set(entry.path, known);
    }
    this.#version = state.version;
  }

  async #add(entry: RecordedEntry): Promise<KnownEntry> {
    // Folders are created for the files in them.
    if (entry.type !== 'file' || !entry.path.startsWith(`${workspacePath}/`)) return { entry, stamp: undefined };
    const name = entry.path.slice(workspacePath.length + 1);
    await fetchFiles([entry], openBytes(this.#engine), async (_, bytes) => {
      const chunks = bytes instanceof Uint8Array ? bytes : { [Symbol.asyncIterator]: () => bytes[Symbol.asyncIterator]() };
      await this.sandbox.write(name, chunks);
    });
    const stats = await lstat(path.join(this.sandbox.directory, name)).catch(() => undefined);
    return stats?.isFile()
      ? { entry: { ...entry, mode: stats.mode & 0o777 }, stamp: stampOf(stats, Date.now()) }
      : { entry, stamp: undefined };
  }

  /** Notes what this node has recorded. If others have changed the record since, `pull` is needed. */
  note(version: number, changes: { entries: readonly KnownEntry[]; removed: readonly string[] }): void {
    for (const name of changes.removed) this.#known.delete(name);
    for (const known of changes.entries) this.#known.set(known.entry.path, known);
    if (version === this.#version + 1) this.#version = version;
  }
}

/** Whether an entry of the record is already known. Empty files have no key, so an upload of one is told from it by its time. */
const isSame = (known: RecordedEntry | undefined, entry: RecordedEntry): boolean => {
  if (known?.type !== 'file' || entry.type !== 'file') return known?.type === entry.type;
  return known.stored?.key === entry.stored?.key && known.sha256 === entry.sha256 && known.modifiedAt === entry.modifiedAt;
};
