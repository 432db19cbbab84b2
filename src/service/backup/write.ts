/** Writes a backup as the bytes of a compressed archive, no faster than they are read. */
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { BackupWriter } from './backup-writer.ts';
import type { HeldDirectory } from './held-directory.ts';
import type { BackupProgress } from './progress.ts';

/** A higher level makes the backup only slightly smaller, and takes several times as long. */
const compressionLevel = 3;

/**
 * The bytes of a backup.
 * @param workFile where the copy of the database is stored in the meantime
 */
export async function* backupBytes(
  directory: HeldDirectory,
  workFile: string,
  progress: BackupProgress,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: compressionLevel });
  const archive = new BackupWriter(directory, workFile, progress).bytes();
  // When it fails, the stream that is read here fails for the same reason.
  const completion = pipeline(Readable.from(archive, { objectMode: true, highWaterMark: 1 }), gzip);
  completion.catch(() => undefined);
  try {
    for await (const chunk of gzip as AsyncIterable<Uint8Array>) {
      signal.throwIfAborted();
      yield chunk;
    }
    await completion;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    gzip.destroy();
    await completion.catch(() => undefined);
    await rm(workFile, { force: true });
  }
}
