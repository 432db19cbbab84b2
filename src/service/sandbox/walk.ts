/** All files below a directory of a sandbox, as they are listed: sorted by name, without links and devices. */
import type { Stats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError } from '../errors.ts';
import { hostTrouble } from '../host-trouble.ts';
import { confirm, fileNotFound, hasCode, locate, notAFile, type Place, statsNow } from './paths.ts';
import { Turn } from './turn.ts';

/** Maximum number of files and directories, and of levels, of one tree. */
export const maxEntries = 100_000;
export const maxDepth = 64;

export const tooManyFiles = (): ServiceError =>
  new ServiceError(400, 'too_many_files', `There are more than ${maxEntries} files and directories.`);
export const tooDeep = (): ServiceError => new ServiceError(400, 'too_deep', `There are more than ${maxDepth} levels of directories.`);

/**
 * The directory that was walked, or that contains the file that was, and the files, with the contents of a directory in its place.
 * @param isHidden whether to leave out an entry, by its path in the sandbox
 * @throws ServiceError `file_not_found`, `not_a_file` for a device, `too_many_files`, `too_deep`
 */
export async function walkFiles(
  root: string,
  input: string,
  isHidden: (displayPath: string) => boolean,
): Promise<{ displayPath: string; files: Place[] }> {
  const start = await locate(root, input);
  if (start.stats?.isFile()) return { displayPath: path.posix.dirname(start.displayPath), files: [start] };
  if (start.stats === undefined) throw fileNotFound(start.displayPath);
  if (!start.stats.isDirectory()) throw notAFile(start.displayPath);
  const files: Place[] = [];
  let count = 0;
  const turn = new Turn();
  const walk = async (directory: Pick<Place, 'displayPath' | 'realPath'>, depth: number): Promise<void> => {
    if (depth > maxDepth) throw tooDeep();
    const found = await readdir(directory.realPath, { withFileTypes: true }).catch((error: unknown) => {
      // It was removed since its parent was read.
      if (depth > 0 && hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
      throw error;
    });
    if (found === undefined) return;
    const entries = found
      .filter((entry) => (entry.isFile() || entry.isDirectory()) && !isHidden(`${directory.displayPath}/${entry.name}`))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    await confirm(root, directory.realPath, directory.displayPath);
    count += entries.length;
    if (count > maxEntries) throw tooManyFiles();
    for (const entry of entries) {
      const place = member(directory, entry.name);
      if (entry.isDirectory()) await walk(place, depth + 1);
      else {
        const stats = statsOf(place.realPath);
        if (stats?.isFile()) files.push({ ...place, stats });
        await turn.yield();
      }
    }
  };
  await walk(start, 0);
  return { displayPath: start.displayPath, files };
}

const member = ({ displayPath, realPath }: Pick<Place, 'displayPath' | 'realPath'>, name: string) => ({
  displayPath: `${displayPath}/${name}`,
  realPath: path.join(realPath, name),
});

/** Undefined for a file that was removed since the directory was read, cannot be read, or has a name that is not UTF-8. */
function statsOf(realPath: string): Stats | undefined {
  try {
    return statsNow(realPath);
  } catch (error) {
    if (hostTrouble(error) !== undefined) throw error;
    return undefined;
  }
}

/** The order of a tree: -1 if a file precedes another one. */
export function comparePaths(a: string, b: string): number {
  const [names, otherNames] = [a.split('/'), b.split('/')];
  const index = names.findIndex((name, position) => name !== otherNames[position]);
  if (index < 0) return names.length - otherNames.length;
  const [name, otherName] = [names[index] as string, otherNames[index]];
  return otherName === undefined || name > otherName ? 1 : -1;
}
