/** Uploads that were recorded on other nodes while a step changed an earlier version of the same files. */
import type { FolderChanges } from './capture.ts';
import type { KnownEntries, RecordedEntry } from './entries.ts';

/**
 * The changes of a step without those that would undo uploads that the step has not seen: a file of which it changed no more than times
 * or permissions, and the removal of an earlier version. Only different content replaces an upload.
 * @param known the record that the changes were compared with
 * @param uploads what was recorded after it
 */
export function keepingUploads(changes: FolderChanges, known: KnownEntries, uploads: readonly RecordedEntry[]): FolderChanges {
  const paths = uploads.map(({ path }) => path);
  const uploadedPaths = new Set(paths);
  const leadsToUpload = (removed: string): boolean => uploadedPaths.has(removed) || paths.some((path) => path.startsWith(`${removed}/`));
  return {
    ...changes,
    entries: changes.entries.filter(({ entry }) => !uploadedPaths.has(entry.path) || !hasSameContent(known.get(entry.path)?.entry, entry)),
    removed: changes.removed.filter((path) => !leadsToUpload(path)),
  };
}

const hasSameContent = (one: RecordedEntry | undefined, other: RecordedEntry): boolean =>
  one?.type === 'file' && other.type === 'file' && one.sha256 === other.sha256;
