/** Reads sandboxes from the record that several nodes share. */
import { createHash } from 'node:crypto';
import type { TarEntry } from '../../base/tar/tar-entry.ts';
import { DamagedFileError, type FileStore } from '../files/file-store.ts';
import { isScanned, type RecordedFile } from '../sandbox/record/entries.ts';
import type { OpenBytes } from '../sandbox/record/fetch.ts';
import { StoredPacks } from '../sandbox/record/stored-packs.ts';
import type { Queries } from '../store/database/database.ts';
import { recordedEntries } from '../store/runs/workspace-files.ts';
import { type Chunks, canonicalEntries, DamagedContentError, placeOf, type SandboxSource, tarEntryOf } from './sandbox-contents.ts';

export const recordedSandboxes =
  (db: Queries, files: FileStore): SandboxSource =>
  async (sandbox) => {
    // Other files were made available to all nodes, and are created again when somebody asks for them.
    const record = (await recordedEntries(db, sandbox.id)).filter(({ path: name }) => isScanned(name));
    const recordedFiles = new Map(record.flatMap((entry) => (entry.type === 'file' ? [[entry.path, entry] as const] : [])));
    const packs = new StoredPacks([...recordedFiles.values()], openIn(files));
    const { entries, problems } = canonicalEntries(sandbox, record.map(tarEntryOf));
    const open = async ({ name }: TarEntry): Promise<Chunks> =>
      verified(placeOf(sandbox.id, name), recordedFiles.get(name) as RecordedFile, packs);
    return { entries, problems, open };
  };

// With a range, neither the size nor the checksum of the stored file is needed.
const openIn =
  (files: FileStore): OpenBytes =>
  (key, range) =>
    files.open({ key, size: range.end + 1, sha256: '' }, range);

async function* verified(place: string, file: RecordedFile, packs: StoredPacks): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let size = 0;
  try {
    const chunks = await packs.chunksOf(file);
    if (chunks === undefined) throw new DamagedContentError(place, 'is not in the file store');
    for await (const chunk of chunks) {
      size += chunk.length;
      hash.update(chunk);
      if (size > file.size) break;
      yield chunk;
    }
  } catch (error) {
    throw error instanceof DamagedFileError ? new DamagedContentError(place, 'is damaged in the file store') : error;
  }
  if (size !== file.size || hash.digest('hex') !== file.sha256) throw new DamagedContentError(place, 'is damaged in the file store');
}
