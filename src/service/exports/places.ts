/** The two places that the data of a service can be in, and what of them an export or import opens. */
import { existsSync } from 'node:fs';
import { readdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeDataDirectory, noData, notEmptyDirectory } from '../../base/data-directory.ts';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { databaseName } from '../backup/format.ts';
import { refuseUnfinished } from '../backup/unfinished.ts';
import type { FileStore } from '../files/file-store.ts';
import type { FileStoreSetting } from '../files/setting.ts';
import { newId } from '../ids.ts';
import { SecretBox } from '../secret-box.ts';
import { openSharedSecrets, recordSharedKey, type SecretKey } from '../shared-secrets.ts';
import { openDirectorySource, openDirectoryTarget } from '../store/data-directory.ts';
import type { Queries, Store } from '../store/database/database.ts';
import type { ExportSource, ImportTarget } from '../store/database/portable/portable-database.ts';
import { openFileStore } from '../store/files/open-file-store.ts';
import { openSharedSource, openSharedTarget } from '../store/shared-storage.ts';
import type { FileSources } from './export-files.ts';
import { folderSandboxes } from './folder-sandboxes.ts';
import type { FileTargets } from './import-files.ts';
import { missingKey, otherKey } from './problems.ts';
import { recordedSandboxes } from './recorded-sandboxes.ts';
import { folderTarget, recordTarget } from './sandbox-targets.ts';

/** The data directory of a service. */
export interface DirectoryPlace {
  directory: string;
}

/** A database that several nodes can share. */
export interface DatabasePlace {
  /** `postgres://user:password@host:port/database` */
  url: string;
  /** By default, files are in the database. */
  files: FileStoreSetting | undefined;
}

export type Place = DirectoryPlace | DatabasePlace;

/** The name of the file with the key for secrets in a data directory. */
export const keyFile = 'secrets.key';
/** What file systems put at the top of a disk, and what a start that was refused leaves behind. */
const unimportant = ['lost+found', '.DS_Store', 'service.log', 'service.log.1'];

interface OpenedSource extends FileSources {
  /** The fingerprint of the key for secrets; null if there is none. */
  secretKey: string | null;
  close(): Promise<void>;
}

/**
 * Opens what is exported, so that no service can start on it.
 * @param key that of a database, which it is checked against
 * @throws AopsError what the databases and file stores throw, `no_data`, `nodes_running`, `data_directory_in_use`, `secret_key_mismatch`
 */
export async function openPlace(place: Place, key: SecretKey | undefined): Promise<OpenedSource> {
  if ('directory' in place) {
    const { directory } = place;
    refuseUnfinished(directory);
    if (!existsSync(path.join(directory, databaseName))) throw noData(directory);
    return withParts(await openDirectorySource(directory), async (source) => ({
      ...{ source, files: await filesOf(place, source.store), sandboxes: () => folderSandboxes(path.join(directory, 'sandboxes')) },
      secretKey: await fingerprintIn(directory),
    }));
  }
  return withParts(await openSharedSource(place.url, `export-${newId()}`), async (source) => {
    if (key === undefined) throw missingKey();
    const { fingerprint } = await openSharedSecrets(source.store, key);
    const files = await filesOf(place, source.store);
    return { source, files, sandboxes: (db: Queries) => recordedSandboxes(db, files), secretKey: fingerprint };
  });
}

interface OpenedTarget extends FileTargets {
  /** Stores the key for secrets. */
  keepKey(db: Queries, key: SecretBox, text: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens what is imported into: a new or empty place, or one that contains the beginning of an import.
 * @throws AopsError what the databases and file stores throw, `data_directory_not_empty`, `database_not_empty`, `nodes_running`
 */
export async function openEmptyPlace(place: Place): Promise<OpenedTarget> {
  if ('directory' in place) {
    const { directory } = place;
    await makeDataDirectory(directory);
    return withParts(await openDirectoryTarget(directory), async (target) => {
      const { store } = target;
      return {
        ...{ target, files: await filesOf(place, store), sandbox: folderTarget(store, path.join(directory, 'sandboxes')) },
        keepKey: (_, __, text) => writeKey(path.join(directory, keyFile), text),
      };
    });
  }
  return withParts(await openSharedTarget(place.url, `import-${newId()}`), async (target) => {
    const { store } = target;
    const files = await filesOf(place, store);
    return { target, files, sandbox: recordTarget(store, files), keepKey: (db, box) => recordSharedKey(db, box) };
  });
}

function filesOf(place: Place, store: Store): Promise<FileStore> {
  if ('directory' in place) return openFileStore(undefined, { store, dataDirectory: place.directory });
  // It is not tried out if it is the database, whose tables need not exist yet.
  return openFileStore(place.files?.kind === 'database' ? undefined : place.files, { store, dataDirectory: '' });
}

/** Adds a function that closes everything. If something cannot be opened, the database is closed. */
async function withParts<Database extends ExportSource | ImportTarget, Parts extends { files: FileStore }>(
  database: Database,
  open: (database: Database) => Promise<Parts>,
): Promise<Parts & { close(): Promise<void> }> {
  try {
    const parts = await open(database);
    return {
      ...parts,
      async close() {
        await parts.files.close();
        await database.close();
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * Whether a place cannot contain anything: a directory without a database, which opening it would create.
 * @throws AopsError `data_directory_not_empty` for a directory with other files
 */
export async function isNew(place: Place): Promise<boolean> {
  if (!('directory' in place)) return false;
  const { directory } = place;
  refuseUnfinished(directory);
  const names = await readdir(directory).catch((error: unknown) => {
    if (isAbsent(error)) return [] as string[];
    throw readFailure(error, directory);
  });
  if (names.includes(databaseName)) return false;
  if (names.some((name) => !unimportant.includes(name))) throw notEmptyDirectory(directory, 'An import');
  return true;
}

async function fingerprintIn(directory: string): Promise<string | null> {
  const file = path.join(directory, keyFile);
  if (!existsSync(file)) return null;
  return (await SecretBox.open(file)).fingerprint;
}

async function writeKey(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, `${text.trim()}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}

/** The key that was passed, if the export has one. @throws AopsError `secret_key_required`, `secret_key_mismatch` */
export function keyOf(fingerprint: string | null, key: SecretKey | undefined): SecretBox | undefined {
  if (fingerprint === null) return undefined;
  if (key === undefined) throw missingKey();
  const box = SecretBox.of(key.text);
  if (box?.fingerprint !== fingerprint) throw otherKey(key.source);
  return box;
}
