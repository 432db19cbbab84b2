/**
 * Applies a patch to a tree of the user's repository, three-way: where the files have changed in the meantime, both changes are
 * combined. The work is done in an index of its own, so the checkout does not change.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { gitFailed, type LocalGit, namesIn, textOf } from './git.ts';

/** The tree with the patch, or the files to which the patch cannot be applied. */
export type Merge = { tree: string } | { conflicts: string[] };

export interface MergeParts {
  /** The tree to change. */
  onto: string;
  /** The tree that the patch was made for; undefined if the repository does not have it. */
  base: string | undefined;
  /** The file with the patch. */
  patch: string;
  /** An existing folder for temporary files. */
  folder: string;
}

type Variables = Record<string, string> & { GIT_INDEX_FILE: string };

/**
 * Tries first, in a store of objects that is discarded, so that a patch that does not apply leaves nothing behind.
 * @throws AopsError `git_failed` when git fails for another reason than conflicts
 */
export async function merge(git: LocalGit, parts: MergeParts): Promise<Merge> {
  const { folder } = parts;
  const place = await git.output(['rev-parse', '--path-format=absolute', '--git-path', 'objects'], 'reading the repository');
  const objects = textOf(place).replace(/\n$/, '');
  const trial = path.join(folder, 'objects');
  await mkdir(trial);
  const index = { GIT_INDEX_FILE: path.join(folder, 'index'), ...identity };
  const trialEnvironment = { GIT_OBJECT_DIRECTORY: trial, GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${objects.replace(/["\\]/g, '\\$&')}"` };
  const result = await mergeIn(git, parts, { ...index, ...trialEnvironment });
  return 'conflicts' in result || result.tree === parts.onto ? result : mergeIn(git, parts, index);
}

/** The author of commits that exist only for the merge. */
const identity = Object.fromEntries(
  ['AUTHOR', 'COMMITTER'].flatMap((role) => [
    [`GIT_${role}_NAME`, 'aops'],
    [`GIT_${role}_EMAIL`, 'aops@aops.invalid'],
  ]),
);

async function mergeIn(git: LocalGit, { onto, base, patch }: MergeParts, env: Variables): Promise<Merge> {
  if (base === undefined || base === onto) return apply(git, onto, patch, env);
  const changedTree = await apply(git, base, patch, env);
  if ('conflicts' in changedTree) return changedTree;
  // With a history of their own, in which the base is the only common ancestor, whatever has become of the branches.
  const commit = async (tree: string, ...parents: string[]): Promise<string> =>
    (
      await git.output(['commit-tree', ...parents.flatMap((parent) => ['-p', parent]), '-m', 'x', tree], 'preparing the merge', { env })
    ).trim();
  const start = await commit(base);
  const sides = [await commit(onto, start), await commit(changedTree.tree, start)];
  const answer = await git.run(['merge-tree', '--write-tree', '--name-only', '-z', ...sides], { env });
  const [tree = '', ...rest] = answer.stdout.split('\0');
  if (answer.code === 0) return { tree };
  // The names end with an empty one.
  if (answer.code === 1) return { conflicts: rest.slice(0, rest.indexOf('')).map(textOf).sort() };
  // Before git 2.38, it cannot merge trees.
  if (answer.code === 129) return apply(git, onto, patch, env);
  throw gitFailed('merging the changes', answer);
}

async function apply(git: LocalGit, base: string, patch: string, variables: Variables): Promise<Merge> {
  await rm(variables.GIT_INDEX_FILE, { force: true });
  await git.output(['read-tree', base], 'reading the files', { env: variables });
  const args = ['-c', 'apply.ignoreWhitespace=no', 'apply', '--cached', '--3way', '--whitespace=nowarn', patch];
  const answer = await git.run(args, { env: variables });
  if (answer.code === 0) return { tree: (await git.output(['write-tree'], 'writing the result', { env: variables })).trim() };
  const unmergedList = await git.output(['ls-files', '--unmerged', '-z'], 'reading the result', { env: variables });
  const names = [...namesIn(unmergedList).map((entry) => textOf(entry.slice(entry.indexOf('\t') + 1))), ...refusedFiles(answer.stderr)];
  if (names.length === 0) throw gitFailed('applying the changes', answer);
  return { conflicts: [...new Set(names)].sort() };
}

const refusal = /^error: (.+): (?:patch does not apply|does not exist in index|already exists in index|does not match index|wrong type)$/gm;

/** The files that the messages of `git apply` name. */
export const refusedFiles = (messages: string): string[] => [...messages.matchAll(refusal)].map(([, name]) => name as string);
