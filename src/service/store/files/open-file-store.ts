/** Opens the file store that the operator of the service has chosen. */
import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { AopsError, exitCodes, messageOf, UsageError } from '../../../base/errors.ts';
import { FileStore } from '../../files/file-store.ts';
import { FolderFiles } from '../../files/folder-files.ts';
import { describeFileStore, type FileStoreSetting } from '../../files/setting.ts';
import type { FileBackend } from '../../files/stored-file.ts';
import { newId } from '../../ids.ts';
import type { Store } from '../database/database.ts';
import { isShared } from '../database/row-locks.ts';
import { DatabaseFiles } from './database-files.ts';

/**
 * Opens the file store, and tries it. Without a setting, files are in the data directory, or in the database if several nodes can use
 * it.
 * @throws AopsError `file_store_needs_database`, `file_store_invalid`, `file_store_unusable`
 */
export async function openFileStore(
  setting: FileStoreSetting | undefined,
  { store, dataDirectory }: { store: Store; dataDirectory: string },
): Promise<FileStore> {
  if (setting === undefined)
    return new FileStore(isShared(store) ? new DatabaseFiles(store) : new FolderFiles(join(dataDirectory, 'files')));
  if (!isShared(store)) {
    throw new UsageError(
      'Without a Postgres database, files are always in the data directory, where backups include them.',
      'Choose a Postgres database as well, or leave out the file store.',
      'file_store_needs_database',
    );
  }
  const files = new FileStore(await backendOf(setting, store));
  try {
    await tryOut(files);
  } catch (error) {
    await files.close();
    throw error instanceof AopsError ? error : unusable(setting, error);
  }
  return files;
}

async function backendOf(setting: FileStoreSetting, store: Store): Promise<FileBackend> {
  if (setting.kind === 'folder') return new FolderFiles(setting.path);
  if (setting.kind === 'database') return new DatabaseFiles(store);
  const { S3Files } = await import('../../files/s3/s3-files.ts');
  // Signatures contain the time of this machine, whichever clock the service has.
  const clock: Clock = systemClock;
  return new S3Files({ ...setting, clock });
}

/** Stores, reads, lists, and removes a file: each may need a permission of its own. */
async function tryOut(files: FileStore): Promise<void> {
  const file = await files.put(`trial/${newId()}`, Buffer.from('trial'));
  const stream = await files.open(file);
  if (stream === undefined) throw new Error('a file that was stored cannot be found');
  await buffer(stream);
  await files.check();
  await files.delete([file.key]);
}

function unusable(setting: FileStoreSetting, cause: unknown): AopsError {
  const reason = messageOf(cause);
  return new AopsError(`Files cannot be stored in ${describeFileStore(setting)}: ${reason.replace(/\.$/, '')}.`, {
    code: 'file_store_unusable',
    exit: exitCodes.unavailable,
    hint:
      setting.kind === 's3'
        ? 'Check the bucket, the endpoint, and the credentials; they must permit to list the bucket, and to read, write, and delete objects.'
        : 'Check that it exists, and that this user may write to it.',
    cause,
  });
}
