/** Extensions: programs called `aops-NAME` in the folders of PATH, which `aops NAME` runs. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { isProgram } from '../../../base/program.ts';
import type { Environment } from '../../../config/paths.ts';

export interface Extension {
  name: string;
  /** The absolute path of the program. */
  path: string;
}

interface Machine {
  env: Environment;
  platform: string;
}

const namePattern = /^aops-([A-Za-z0-9][\w-]*)(\.exe|\.com)?$/;

/** The extension with this name: the first one in the order of PATH. */
export async function findExtension(machine: Machine, name: string): Promise<Extension | undefined> {
  for (const folder of foldersOf(machine))
    for (const suffix of suffixesOf(machine)) {
      const file = path.join(folder, `aops-${name}${suffix}`);
      if (namePattern.test(path.basename(file)) && (await isProgram(file))) return { name, path: file };
    }
  return undefined;
}

/** All extensions by name. Of several with the same name, the first in the order of PATH. */
export async function listExtensions(machine: Machine): Promise<Extension[]> {
  const found = new Map<string, Extension>();
  const contents = await Promise.all(
    foldersOf(machine).map(async (folder) => ({ folder, files: await readdir(folder).catch((): string[] => []) })),
  );
  for (const { folder, files } of contents)
    for (const file of files) {
      const [, name, suffix = ''] = namePattern.exec(file) ?? [];
      if (name === undefined || found.has(name) || !suffixesOf(machine).includes(suffix)) continue;
      const program = path.join(folder, file);
      if (await isProgram(program)) found.set(name, { name, path: program });
    }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Windows starts only these without a shell. */
const suffixesOf = ({ platform }: Machine): readonly string[] => (platform === 'win32' ? ['.exe', '.com'] : ['']);

/** Relative folders are left out: what they contain depends on the current directory, which may be anybody's. */
const foldersOf = ({ env, platform }: Machine): string[] => {
  const folders = (env.PATH ?? (platform === 'win32' ? env.Path : undefined) ?? '').split(platform === 'win32' ? ';' : ':');
  return [...new Set(folders.filter((folder) => path.isAbsolute(folder)))];
};
