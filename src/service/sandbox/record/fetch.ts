/** Reads the bytes of recorded files, of which many can be in one stored file. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { RecordedFile, StoredBytes } from './entries.ts';

/** Opens a range of a stored file, both ends included; undefined if the stored file no longer exists. */
export type OpenBytes = (key: string, range: { start: number; end: number }) => Promise<AsyncIterable<Uint8Array> | undefined>;

/** A stored file no longer exists: a later version of the record does not refer to it. */
export class StoredFileMissingError extends Error {
  constructor() {
    super('A file of a sandbox is no longer stored.');
    this.name = 'StoredFileMissingError';
  }
}

/** The largest range that is read into memory, and unneeded bytes that are read rather than opening another range, in bytes. */
const maxRange = 8 * 1024 * 1024;
const maxGap = 64 * 1024;

type FileWithBytes = RecordedFile & { stored: StoredBytes };

/**
 * Calls `use` with each file and its bytes, of small files with those that are stored next to them.
 * @throws StoredFileMissingError, and an Error if the bytes are not those that were recorded
 */
export async function fetchFiles(
  files: readonly RecordedFile[],
  open: OpenBytes,
  use: (file: RecordedFile, bytes: Uint8Array | AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  const withBytes: FileWithBytes[] = [];
  for (const file of files) {
    if (file.stored === null) await use(file, new Uint8Array());
    else withBytes.push(file as FileWithBytes);
  }
  for (const group of groupsOf(withBytes)) {
    const [first] = group as [FileWithBytes];
    const { key, position } = first.stored;
    const end = Math.max(...group.map((file) => file.stored.position + file.size)) - 1;
    const chunks = await open(key, { start: position, end });
    if (chunks === undefined) throw new StoredFileMissingError();
    if (first.size > maxRange) {
      await use(first, checked(first, chunks));
      continue;
    }
    const bytes = await wholeOf(chunks);
    for (const file of group) {
      const start = file.stored.position - position;
      const part = bytes.subarray(start, start + file.size);
      requireSum(file, createHash('sha256').update(part).digest('hex'));
      await use(file, part);
    }
  }
}

/** Neighbours in the same stored file. A large file is alone. */
function groupsOf(files: readonly FileWithBytes[]): FileWithBytes[][] {
  const sorted = [...files].sort((a, b) =>
    a.stored.key === b.stored.key ? a.stored.position - b.stored.position : a.stored.key < b.stored.key ? -1 : 1,
  );
  const groups: FileWithBytes[][] = [];
  for (const file of sorted) {
    const group = groups.at(-1);
    const [first, last] = [group?.[0], group?.at(-1)];
    const end = file.stored.position + file.size;
    const isNeighbour =
      first !== undefined &&
      last !== undefined &&
      first.stored.key === file.stored.key &&
      file.stored.position - (last.stored.position + last.size) <= maxGap &&
      end - first.stored.position <= maxRange;
    if (isNeighbour) group?.push(file);
    else groups.push([file]);
  }
  return groups;
}

/** All bytes of a stream. */
export async function wholeOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

async function* checked(file: RecordedFile, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const hash = createHash('sha256');
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
  requireSum(file, hash.digest('hex'));
}

function requireSum(file: RecordedFile, sum: string): void {
  if (sum !== file.sha256) throw new Error(`The stored bytes of ${JSON.stringify(file.path)} are damaged.`);
}
