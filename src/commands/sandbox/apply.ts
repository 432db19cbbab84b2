import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { shellWord } from '../../base/shell.ts';
import { makeTemporaryFolder } from '../../base/temporary-folder.ts';
import { length } from '../../cli/kit/checks.ts';
import { defineCommand } from '../../cli/kit/command.ts';
import type { Context } from '../../cli/kit/context.ts';
import { flag, text } from '../../cli/kit/flags.ts';
import { recordOutput } from '../../cli/kit/output.ts';
import { returns } from '../../cli/kit/result.ts';
import { runArgument, runForHere, runTitle, runWord } from '../../cli/names/run-names.ts';
import { agentFlag } from '../../cli/names/run-place.ts';
import type { RunChanges } from '../../interface/types.ts';
import { checkBranch, commitToBranch, treeOf } from './repository/branch.ts';
import { bringHome, type ChangedPath, type Checkout, changedPaths, listNames, openCheckout } from './repository/checkout.ts';
import { textOf } from './repository/git.ts';
import { type MergeParts, merge } from './repository/merge.ts';
import { changesOperations, patchBytes, readRunChanges } from './repository/run-changes.ts';
import { noteGaps } from './repository/show.ts';

interface ApplyResult {
  run_id: string;
  /** The top folder of the checkout. */
  checkout: string;
  branch: string | null;
  commit: string | null;
  files: { path: string; change: 'added' | 'changed' | 'removed' }[];
}

export default defineCommand({
  summary: 'Bring home what a run changed in its repository',
  description:
    'Applies the changes that `aops sandbox diff RUN` shows to a checkout, and stages them. Where the checkout has changed since the run started, both changes are combined. If they conflict, or would overwrite uncommitted work, nothing is changed, and the exit code is 6.\n\nWith --branch, the checkout stays unchanged: the changes become a commit on a new branch, on top of the commit from which the run started.',
  arguments: { run: runArgument },
  options: {
    to: text('DIR', 'The checkout (default: the current folder)', { complete: 'directories' }),
    branch: text('NAME', 'Commit the changes to a new branch of the checkout instead', { check: length(1) }),
    message: text('TEXT', 'The message of the commit', { check: length(1) }),
    force: flag('Let --branch replace an existing branch'),
    check: flag('Only check whether the changes can be applied'),
    ...agentFlag,
  },
  operations: changesOperations,
  exits: [exitCodes.conflict],
  examples: [
    { command: 'aops sandbox apply @latest', text: 'Apply the changes of the newest run to the checkout in the current folder' },
    { command: 'aops sandbox apply 17 --branch fix-login', text: 'Keep the changes of run 17 on a branch' },
    { command: 'aops sandbox apply 17 --to ~/shop --check', text: 'Find out whether the changes of run 17 conflict' },
  ],
  result: returns({
    run_id: 'uuid',
    checkout: 'string',
    branch: 'string|null',
    commit: 'string|null',
    files: [{ path: 'string', change: 'added|changed|removed' }],
  }),
  output: recordOutput<ApplyResult>(({ checkout, branch, commit, files }) => ({
    Checkout: checkout,
    Branch: branch ?? undefined,
    Commit: commit ?? undefined,
    Files: files.length === 0 ? 'none' : listNames(files.map(({ path: name }) => name)),
  })),
  async run(context, input): Promise<ApplyResult> {
    if (input.branch === undefined && input.force) throw new UsageError('--force requires --branch.');
    if (input.branch === undefined && input.message !== undefined) throw new UsageError('--message requires --branch.');
    const advice = 'Download its files with `aops sandbox pull`. A run gets a repository with `aops runs start --repo`.';
    const { run, changes } = await readRunChanges(context, input.run, { agent: input.agent, advice });
    noteGaps(context, changes);
    const requestedRun = runForHere(context, run);
    const target: Target = {
      checkout: await openCheckout(context, input.to ?? '.'),
      title: runTitle(requestedRun),
      branchAdvice: `aops sandbox apply ${runWord(requestedRun)}${input.to === undefined ? '' : ` --to ${shellWord(input.to)}`} --branch NAME`,
    };
    const branch = input.branch;
    if (branch !== undefined) await checkBranch(target.checkout, branch, input.force);
    const message = input.message ?? `Apply the changes of run ${runTitle(run)}`;
    const commit = changes.repository.commit as string;
    const base = await treeOf(target.checkout, commit);
    const result = await withPatch(context, changes, (files) => {
      const parts = { ...files, base };
      return branch === undefined
        ? toFiles(target, parts, input.check)
        : toBranch(target, parts, { branch, message, commit, isCheckOnly: input.check });
    });
    report(context, result, { branch, isCheckOnly: input.check });
    return {
      run_id: run.id,
      checkout: target.checkout.folder,
      branch: branch ?? null,
      commit: result.commit ?? null,
      files: result.changes.map(fileOf),
    };
  },
});

interface Target {
  checkout: Checkout;
  /** The run in a sentence. */
  title: string;
  /** The command that keeps the changes on a branch. */
  branchAdvice: string;
}

type PatchParts = Omit<MergeParts, 'onto'>;

interface Result {
  changes: ChangedPath[];
  commit?: string | undefined;
}

/** Downloads the patch into a temporary folder, which is removed afterwards. */
async function withPatch(
  context: Context,
  changes: RunChanges,
  use: (files: Pick<MergeParts, 'folder' | 'patch'>) => Promise<Result>,
): Promise<Result> {
  if (changes.patch_url === null) return { changes: [] };
  const folder = await makeTemporaryFolder('aops-apply-');
  try {
    const patch = path.join(folder, 'patch');
    const file = await open(patch, 'wx', 0o600);
    try {
      for await (const chunk of patchBytes(context, changes)) await file.write(chunk);
    } finally {
      await file.close();
    }
    return await use({ folder, patch });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function toFiles(target: Target, parts: PatchParts, isCheckOnly: boolean): Promise<Result> {
  const { checkout, branchAdvice } = target;
  const mergeResult = await merge(checkout.git, { onto: checkout.headTree, ...parts });
  if ('conflicts' in mergeResult)
    throw conflicting(target, mergeResult.conflicts, `Keep the changes on a branch and merge that: ${branchAdvice}`);
  const changes = await changedPaths(checkout, checkout.headTree, mergeResult.tree);
  if (changes.length > 0) await bringHome(checkout, mergeResult.tree, changes, { branchAdvice, isCheckOnly });
  return { changes };
}

/** Commits to a branch on top of the commit from which the run started, or of what is checked out if the repository does not have it. */
async function toBranch(
  target: Target,
  parts: PatchParts,
  { branch, message, commit, isCheckOnly }: { branch: string; message: string; commit: string; isCheckOnly: boolean },
): Promise<Result> {
  const { checkout } = target;
  const onto = parts.base ?? checkout.headTree;
  const mergeResult = await merge(checkout.git, { onto, ...parts });
  if ('conflicts' in mergeResult) {
    const hint = `The checkout does not have the commit ${commit.slice(0, 12)}, from which the run started. Fetch it (\`git fetch\`), and try again.`;
    throw conflicting(target, mergeResult.conflicts, hint);
  }
  const changes = await changedPaths(checkout, onto, mergeResult.tree);
  if (isCheckOnly) return { changes };
  const parent = parts.base === undefined ? checkout.head : commit;
  return { changes, commit: await commitToBranch(checkout, { name: branch, tree: mergeResult.tree, parent, message }) };
}

const conflicting = ({ checkout, title }: Target, files: readonly string[], hint: string): AopsError =>
  new AopsError(`The changes of run ${title} conflict with ${checkout.folder} in ${listNames(files)}. Nothing was changed.`, {
    code: 'changes_conflict',
    exit: exitCodes.conflict,
    hint,
  });

/** Says what happened, and what can be done next. */
function report(
  { terminal }: Context,
  { changes }: Result,
  { branch, isCheckOnly }: { branch: string | undefined; isCheckOnly: boolean },
): void {
  const files = pluralize(changes.length, 'file');
  if (changes.length === 0) terminal.note('There is nothing to apply: the checkout already has these changes, or the run made none.');
  else if (isCheckOnly) terminal.note(`The changes can be applied: ${files}.`);
  else if (branch === undefined) terminal.note(`Changed and staged ${files}. Review them with \`git diff --cached\`.`);
  else terminal.note(`Committed ${files}. Merge them with \`git merge ${shellWord(branch)}\`.`);
}

const words: Record<ChangedPath['change'], ApplyResult['files'][number]['change']> = {
  A: 'added',
  M: 'changed',
  T: 'changed',
  D: 'removed',
};
const fileOf = ({ change, name }: ChangedPath): ApplyResult['files'][number] => ({ path: textOf(name), change: words[change] });
