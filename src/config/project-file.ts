/** Finds `.aops.toml`, which can select a profile, a team and an agent for a directory. Runs at every start, so it only looks. */
import { statSync } from 'node:fs';
import path from 'node:path';

export const projectFileName = '.aops.toml';

/**
 * The nearest `.aops.toml`, from `directory` upwards. The search ends with the root of a git repository and with the home directory, so
 * that a file elsewhere never applies to a repository.
 */
export function findProjectFile(directory: string, home: string | undefined): string | undefined {
  let folder = path.resolve(directory);
  for (;;) {
    const file = path.join(folder, projectFileName);
    if (statOf(file)?.isFile()) return file;
    const parent = path.dirname(folder);
    if (folder === home || parent === folder || statOf(path.join(folder, '.git')) !== undefined) return undefined;
    folder = parent;
  }
}

function statOf(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
