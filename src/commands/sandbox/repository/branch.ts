/** Keeps the changes of a run on a branch of the user's repository, without changing what is checked out. */
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import type { Checkout } from './checkout.ts';
import { gitFailed, textOf } from './git.ts';

/** @throws UsageError for a name that git does not accept; AopsError `branch_exists` (exit 6) unless it may be replaced */
export async function checkBranch({ git }: Checkout, name: string, replaces: boolean): Promise<void> {
  if (name.startsWith('-') || (await git.run(['check-ref-format', `refs/heads/${name}`])).code !== 0)
    throw new UsageError(`"${name}" is not a valid name for a branch.`, 'See the rules with `git help check-ref-format`.');
  const { code } = await git.run(['rev-parse', '--verify', '--quiet', `refs/heads/${name}`]);
  if (code !== 0 || replaces) return;
  throw new AopsError(`There is already a branch ${name}. Nothing was changed.`, {
    code: 'branch_exists',
    exit: exitCodes.conflict,
    hint: 'Choose another name, or replace the branch with --force.',
  });
}

/** The tree of a commit, if the repository has it. */
export async function treeOf({ git }: Checkout, commit: string): Promise<string | undefined> {
  const existing = await git.run(['rev-parse', '--verify', '--quiet', `${commit}^{tree}`]);
  return existing.code === 0 ? existing.stdout.trim() : undefined;
}

/** Commits a tree and lets the branch point to it. Returns the ID of the commit. @throws AopsError `git_failed` */
export async function commitToBranch(
  { git }: Checkout,
  { name, tree, parent, message }: { name: string; tree: string; parent: string | undefined; message: string },
): Promise<string> {
  const args = ['commit-tree', ...(parent === undefined ? [] : ['-p', parent]), '-F', '-', tree];
  const answer = await git.run(args, { input: Buffer.from(`${message}\n`).toString('latin1') });
  if (answer.code !== 0) {
    const hint = /Please tell me who you are|unable to auto-detect|empty ident/.test(answer.stderr)
      ? 'Tell git who you are: `git config --global user.name NAME` and `git config --global user.email ADDRESS`.'
      : undefined;
    throw gitFailed('committing the changes', answer, hint);
  }
  const commit = textOf(answer.stdout).trim();
  // Refuses a branch that is checked out somewhere. Whether an existing one may be replaced has been checked.
  const branch = await git.run(['branch', '--no-track', '--force', name, commit]);
  if (branch.code !== 0) throw gitFailed(`creating the branch ${name}`, branch);
  return commit;
}
