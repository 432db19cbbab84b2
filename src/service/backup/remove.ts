/** Removes what a service has created in its data directory. */
import { readdir, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { isAbsent, readFailure } from '../../base/read-failure.ts';
import { removeTree } from '../../base/remove-tree.ts';
import { removeDatabase } from '../store/data-directory.ts';

/** The files of a service besides its database. Any other file belongs to the user, since the directory might have existed before. */
const ownName = /^(restoring|secrets\.key(\.new)?|token(\.new)?|service\.(log|json(\.\d+)?))$/;
const databaseFile = /^aops\.db(-wal|-shm|-journal)?$/;
/** Folders that might have existed before, and the entries that a service creates in them. */
const ownFolders: Readonly<Record<string, RegExp>> = {
  sandboxes: /^[0-9a-f-]{36}(\.[\w-]+)*$/,
  files: /^[0-9a-f-]{36}(\.\w+)?$/,
  backups: /^aops-.*\.db$/,
  contained: /^(group|passwd|trial-[0-9a-f-]{36})$/,
};

type Remove = typeof removeTree;

/** The names in a data directory; none if it does not exist. @throws AopsError `not_readable` */
export const namesIn = (dataDirectory: string): Promise<string[]> =>
  readdir(dataDirectory).catch((error: unknown) => {
    if (isAbsent(error)) return [];
    throw readFailure(error, dataDirectory);
  });

/**
 * Removes the data of a stopped service, and its directory if nothing else is in it. A service that starts meanwhile is refused.
 * @param remove removes a file or a folder with everything in it
 * @returns the names of other files and folders in the directory
 * @throws AopsError `data_directory_in_use`, `data_directory_foreign`, or the system's error
 */
export async function removeData(dataDirectory: string, remove: Remove = removeTree): Promise<string[]> {
  const otherNames = await removeDatabase(dataDirectory, async () => {
    await removeOwn(dataDirectory, ownName, remove);
    for (const [name, own] of Object.entries(ownFolders)) {
      const folder = path.join(dataDirectory, name);
      await removeOwn(folder, own, remove);
      // Fails if the folder contains other files or does not exist.
      await rmdir(folder).catch(() => undefined);
    }
    return (await namesIn(dataDirectory)).filter((name) => !ownName.test(name) && !databaseFile.test(name));
  });
  // Fails if it contains other files, or those of a service that has started since.
  await rmdir(dataDirectory).catch(() => undefined);
  return otherNames;
}

async function removeOwn(folder: string, own: RegExp, remove: Remove): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (own.test(name)) await remove(path.join(folder, name));
}
