/** The user's checkout: what in it is uncommitted, and bringing a result into it without leaving half of it behind. */
import { lstat, readdir, rm, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { gitFailed, LocalGit, namesIn, textOf } from './git.ts';

export interface Checkout {
  /** The top folder. */
  folder: string;
  git: LocalGit;
  /** The tree of the commit that is checked out; without one, the empty tree. */
  headTree: string;
  /** The commit that is checked out, if there is one. */
  head: string | undefined;
}

/** A path that the result changes, as bytes in latin1. */
export interface ChangedPath {
  change: 'A' | 'M' | 'D' | 'T';
  name: string;
}

/** @throws UsageError when the folder is not a checkout; AopsError `git_not_found`, `git_failed` */
export async function openCheckout(context: Context, folder: string): Promise<Checkout> {
  const place = path.resolve(context.cwd, folder);
  const stats = await stat(place).catch(() => undefined);
  if (!stats?.isDirectory()) throw new UsageError(`There is no folder ${place}.`, 'Name the checkout with --to FOLDER.');
  const outside = new LocalGit(place, context);
  const top = await outside.run(['rev-parse', '--show-toplevel']);
  if (/not a git repository|must be run in a work tree/.test(top.stderr))
    throw new UsageError(
      `${place} is not a checkout of a git repository.`,
      'Run the command in the checkout, or name it with --to FOLDER.',
    );
  if (top.code !== 0) throw gitFailed(`reading ${place}`, top);
  const toplevel = textOf(top.stdout).replace(/\n$/, '');
  const git = outside.inFolder(toplevel);
  const head = await git.run(['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']);
  const tree = head.code === 0 ? ['rev-parse', 'HEAD^{tree}'] : ['hash-object', '-t', 'tree', '--stdin'];
  const headTree = (await git.output(tree, 'reading the commit that is checked out')).trim();
  return { folder: toplevel, git, headTree, head: head.code === 0 ? head.stdout.trim() : undefined };
}

export async function changedPaths({ git }: Checkout, from: string, to: string): Promise<ChangedPath[]> {
  const words = namesIn(await git.output(['diff-tree', '-r', '-z', '--no-renames', '--name-status', from, to], 'comparing the files'));
  return words.flatMap((change, index) =>
    index % 2 === 0 ? [{ change: change as ChangedPath['change'], name: words[index + 1] as string }] : [],
  );
}

/**
 * Changes the files and the index to a tree.
 * @throws AopsError `uncommitted_work` (exit 6) when that would overwrite work; `git_failed` when it was undone
 */
export async function bringHome(
  checkout: Checkout,
  tree: string,
  changes: readonly ChangedPath[],
  { branchAdvice, isCheckOnly }: { branchAdvice: string; isCheckOnly: boolean },
): Promise<void> {
  const { git, headTree } = checkout;
  await git.run(['update-index', '-q', '--refresh']);
  const uncommittedPaths = await uncommittedAmong(checkout, changes);
  if (uncommittedPaths.length > 0) throw overwriting(uncommittedPaths, branchAdvice);
  if (isCheckOnly) return;
  const answer = await git.run(['read-tree', '-m', '-u', headTree, tree], { ignoresInterrupts: true });
  if (answer.code === 0) return;
  // Git checks everything before its first change.
  if (!/not uptodate|would be overwritten|would lose|would be removed|unmerged|index\.lock/i.test(answer.stderr))
    await undo(checkout, changes);
  throw gitFailed('writing the files, so nothing was changed', answer);
}

async function uncommittedAmong({ git, folder, head }: Checkout, changes: readonly ChangedPath[]): Promise<string[]> {
  const task = 'looking for uncommitted work';
  const listCommand = head === undefined ? ['ls-files', '-z'] : ['diff-index', '--cached', '--name-only', '--no-renames', '-z', 'HEAD'];
  const names = new Set([
    ...namesIn(await git.output(['diff-files', '--name-only', '-z'], task)),
    ...namesIn(await git.output(listCommand, task)),
    ...namesIn(await git.output(['ls-files', '--unmerged', '-z'], task)).map((entry) => entry.slice(entry.indexOf('\t') + 1)),
  ]);
  const removedNames = new Set(changes.filter(({ change }) => change === 'D').map(({ name }) => textOf(name)));
  const found = await Promise.all(
    changes.map(async ({ change, name }) => {
      if (names.has(name)) return textOf(name);
      return change === 'A' ? untrackedAt(folder, textOf(name), removedNames) : undefined;
    }),
  );
  return [...new Set(found.filter((name) => name !== undefined))];
}

function overwriting(names: readonly string[], branchAdvice: string): AopsError {
  return new AopsError(`The changes would overwrite uncommitted work in ${listNames(names)}. Nothing was changed.`, {
    code: 'uncommitted_work',
    exit: exitCodes.conflict,
    hint: `Commit or stash it first (\`git stash --include-untracked\`), or keep the changes on a branch: ${branchAdvice}`,
  });
}

const maxNames = 10;

/** Names in a sentence, as far as there is space for them. */
export const listNames = (names: readonly string[]): string =>
  names.length <= maxNames ? names.join(', ') : `${names.slice(0, maxNames).join(', ')}, and ${names.length - maxNames} more`;

/** Restores the files from the index, which git writes last, so it is unchanged. None of them had uncommitted work. */
async function undo({ git, folder }: Checkout, changes: readonly ChangedPath[]): Promise<void> {
  // First, because the disk might be full.
  for (const { change, name } of changes) if (change === 'A') await removeFile(folder, textOf(name));
  const existing = changes.filter(({ change }) => change !== 'A').map(({ name }) => `${name}\0`);
  await git.run(['checkout-index', '--force', '-z', '--stdin'], { input: existing.join(''), ignoresInterrupts: true });
}

async function removeFile(folder: string, name: string): Promise<void> {
  await rm(path.join(folder, name), { force: true }).catch(() => undefined);
  for (let parent = path.dirname(name); parent !== '.'; parent = path.dirname(parent)) {
    const isRemoved = await rmdir(path.join(folder, parent)).then(
      () => true,
      () => false,
    );
    if (!isRemoved) return;
  }
}

/**
 * What is in the place of a new file: a file there, or in place of one of its folders. Git replaces a folder without files.
 * @param removedNames tracked files that are removed before
 */
async function untrackedAt(folder: string, name: string, removedNames: ReadonlySet<string>): Promise<string | undefined> {
  const statsOf = (place: string) => lstat(path.join(folder, place)).catch(() => undefined);
  for (let end = name.indexOf('/'); end >= 0; end = name.indexOf('/', end + 1)) {
    const parent = name.slice(0, end);
    if (removedNames.has(parent)) return undefined;
    const stats = await statsOf(parent);
    if (stats === undefined) return undefined;
    if (!stats.isDirectory()) return parent;
  }
  const stats = await statsOf(name);
  if (stats === undefined) return undefined;
  if (!stats.isDirectory()) return name;
  const entries = await readdir(path.join(folder, name), { recursive: true, withFileTypes: true });
  return entries.some((entry) => !entry.isDirectory()) ? name : undefined;
}
