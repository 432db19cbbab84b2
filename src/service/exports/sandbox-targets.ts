/** Imports the files of a sandbox: into folders for a service with SQLite, and into the record that several nodes share. */
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import type { FileStore } from '../files/file-store.ts';
import { newId } from '../ids.ts';
import type { RecordedEntry, RecordedFile } from '../sandbox/record/entries.ts';
import { fetchFiles } from '../sandbox/record/fetch.ts';
import { FilePacks, maxSmallBytes, type PutBytes } from '../sandbox/record/packs.ts';
import { placeEntries } from '../sandbox/record/restore.ts';
import { SandboxStore } from '../sandbox/sandbox-store.ts';
import type { Store } from '../store/database/database.ts';
import { insertNewFiles, referToFiles } from '../store/files/unreferenced-files.ts';
import { changeRecord, raiseVersion } from '../store/runs/workspace-files.ts';
import type { FileTargets, SandboxImport } from './import-files.ts';
import { faultyImport } from './problems.ts';

/** How long bytes that nothing refers to are kept, in milliseconds: those of an import that was interrupted are stored again. */
const writeLimit = 24 * 60 * 60 * 1_000;

/** Creates the folders of sandboxes. @param root the folder of all sandboxes */
export function folderTarget(store: Store, root: string): FileTargets['sandbox'] {
  const sandboxes = new SandboxStore(root);
  return async ({ id, entries, open, signal, record }) => {
    await sandboxes.create(id);
    // What an attempt that was interrupted has created is kept if it is the same.
    await placeEntries(path.join(root, id), entries, { open, signal, staging: path.join(root, id, 'staging', 'import') });
    await record(store);
  };
}

/** Records the files of sandboxes, and stores their bytes. */
export const recordTarget =
  (store: Store, files: FileStore): FileTargets['sandbox'] =>
  async (sandbox) => {
    const { id, record } = sandbox;
    const { entries, keys } = await storeBytes(store, files, sandbox);
    await store.transaction().execute(async (trx) => {
      const version = await raiseVersion(trx, id);
      if (version === undefined) throw faultyImport(`the sandbox ${id}`);
      await changeRecord(trx, id, { version, entries });
      if (!(await referToFiles(trx, keys))) throw faultyImport(`the sandbox ${id}`);
      await record(trx);
    });
  };

async function storeBytes(
  store: Store,
  files: FileStore,
  { id, entries, open, signal }: SandboxImport,
): Promise<{ entries: RecordedEntry[]; keys: string[] }> {
  const stored = new Map<string, RecordedFile>();
  const keys: string[] = [];
  const put: PutBytes = async (data) => {
    signal.throwIfAborted();
    const key = `sandboxes/${id}/${newId()}`;
    await insertNewFiles(store, [key], systemClock.now() + writeLimit);
    keys.push(key);
    return files.put(key, data);
  };
  const packs = new FilePacks(put);
  const contents = entries.filter((entry) => entry.type === 'file');
  await fetchFiles(contents, open, async (file, bytes) => {
    if (file.stored === null) return;
    if (bytes instanceof Uint8Array && bytes.length <= maxSmallBytes)
      await packs.add(bytes, (place) => stored.set(file.path, { ...file, stored: place }));
    else stored.set(file.path, { ...file, stored: { key: (await put(bytes)).key, position: 0 } });
  });
  await packs.flush();
  return { entries: entries.map((entry) => stored.get(entry.path) ?? entry), keys };
}
