/**
 * Turns a workspace into a repository of its own, on its own branch. It shares nothing with its source or with other runs: an agent
 * that can write to its workspace can change everything in it, including the configuration of git.
 */
import { randomUUID } from 'node:crypto';
import { appendFile, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '../../base/remove-tree.ts';
import { ServiceError } from '../errors.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { configure, type GitConfig } from './config.ts';
import { type Git, type GitResult, textOf } from './git.ts';
import { type GitEnd, gitFailure } from './problems.ts';
import { objectFormatOf } from './source.ts';

export interface Checkout {
  commit: string;
  /** The new branch: `aops/run-17`. */
  branch: string;
  /** The branch that the commit comes from, which is `origin/NAME` in the new repository. */
  sourceBranch: string | undefined;
}

export interface CheckOutOptions {
  /** Puts the objects of the commit into a new repository. */
  copyObjects(gitFolder: string): Promise<void>;
  signal: AbortSignal;
  onProgress: (line: string) => void;
}

/** The number of files, and the parts of the repository that the workspace does not contain. */
export interface Gaps {
  files: number;
  submodules: string[];
  usesLargeFileStorage: boolean;
  isShallow: boolean;
}

/** Milliseconds for writing the files. */
const checkoutLimit = 15 * 60_000;
/** The file that lists the files that were in the workspace before. */
const uploadsName = 'uploads.json';

/**
 * Checks out a commit into the workspace of a sandbox, next to uploaded files, which git ignores from then on.
 * If an earlier call was interrupted, this one starts over. Throws 409 `upload_in_the_way` if the repository contains a file of that name.
 */
export async function checkOut(
  git: Git,
  sandbox: Sandbox,
  { commit, branch, sourceBranch }: Checkout,
  { copyObjects, signal, onProgress }: CheckOutOptions,
): Promise<Gaps> {
  const staging = await sandbox.privateFolder(stagingName);
  const repository = path.join(sandbox.directory, '.git');
  const record = await readUploads(staging);
  // Moving the repository to its place is the last step.
  const isComplete = record !== undefined && (await headOf(git, repository, signal)) === commit;
  const gitFolder = isComplete ? repository : path.join(staging, 'git');
  const variables = { GIT_DIR: gitFolder, GIT_WORK_TREE: sandbox.directory };
  const run = (args: readonly string[], input?: string): Promise<GitResult> =>
    git.run(args, {
      cwd: sandbox.directory,
      env: variables,
      signal,
      timeLimit: checkoutLimit,
      task,
      onProgress,
      ...(input !== undefined && { input }),
    });
  const call = async (args: readonly string[], input?: string): Promise<string> => requireSuccess(await run(args, input));
  if (!isComplete) {
    const uploads = record ?? (await recordUploads(staging, sandbox.directory));
    if (record !== undefined) {
      await removeTree(repository);
      await removeNewFiles(sandbox.directory, uploads);
    }
    await removeTree(gitFolder);
    await mkdir(gitFolder, { mode: 0o700 });
    // Without GIT_WORK_TREE, because git would write its location into the configuration.
    const format = `--object-format=${objectFormatOf(commit)}`;
    const init = ['init', '--quiet', '--template=', format, `--initial-branch=${branch}`];
    requireSuccess(await git.run(init, { cwd: staging, env: { GIT_DIR: gitFolder }, signal, task }));
    await copyObjects(gitFolder);
    const refs = [`refs/heads/${branch}`, ...(sourceBranch === undefined ? [] : [`refs/remotes/origin/${sourceBranch}`])];
    await call(['update-ref', '--stdin'], refs.map((ref) => `create ${ref} ${commit}\n`).join(''));
    await configure(gitFolder, configOf(branch));
    const treeResult = await run(['read-tree', '-m', '-u', '-v', 'HEAD']);
    if (treeResult.code !== 0) throw uploadInTheWay(treeResult) ?? gitFailure(task, treeResult);
    // Only now, because git overwrites ignored files.
    await mkdir(path.join(gitFolder, 'info'), { recursive: true });
    await appendFile(path.join(gitFolder, 'info', 'exclude'), [...homeFolders, ...uploads.map(excludePattern)].join(''));
    await rename(gitFolder, repository);
    variables.GIT_DIR = repository;
  }
  return findGaps(call, variables.GIT_DIR);
}

/** Removes the record that `checkOut` needs if it is interrupted. Call it once it is recorded elsewhere that the checkout is complete. */
export const finishCheckOut = async (sandbox: Sandbox): Promise<void> => removeTree(await sandbox.privateFolder(stagingName));

const task = 'checking out the repository';
/** Next to the workspace, on the same file system. */
const stagingName = 'checkout';

const configOf = (branch: string): GitConfig => ({
  core: { bare: 'false', logAllRefUpdates: 'true' },
  // The author of the agent's commits, which stay in the workspace.
  user: { name: 'aops', email: `${branch.replace('/', '-')}@aops.invalid` },
});

async function readUploads(staging: string): Promise<string[] | undefined> {
  const text = await readFile(path.join(staging, uploadsName), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as string[]);
}

/** Records the files that were in the workspace before. The record appears complete or not at all. */
async function recordUploads(staging: string, workspace: string): Promise<string[]> {
  const uploads = await filesBelow(workspace, '');
  if (uploads.some((name) => /^\.git(?:\/|$)/i.test(name))) throw inTheWay('.git');
  const temporary = path.join(staging, randomUUID());
  await writeFile(temporary, JSON.stringify(uploads));
  await rename(temporary, path.join(staging, uploadsName));
  return uploads;
}

/** Removes the files that an interrupted checkout has written. */
async function removeNewFiles(workspace: string, uploads: readonly string[]): Promise<void> {
  const uploadNames = new Set(uploads);
  for (const name of await filesBelow(workspace, '')) if (!uploadNames.has(name)) await rm(path.join(workspace, name), { force: true });
}

/** Everything below a folder that is not a folder, without following links. */
async function filesBelow(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(path.join(root, folder), { withFileTypes: true });
  const names = entries.map(async (entry) => {
    const name = path.posix.join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(root, name) : [name];
  });
  return (await Promise.all(names)).flat();
}

/** Files that programs create in their home directory, which is the workspace for commands of runs. Files in the repository are not affected. */
const homeFolders = ['/.cache/\n', '/.npm/\n', '/.gitconfig\n'];

/** A line of `info/exclude` for exactly one file (gitignore(5)). */
const excludePattern = (name: string): string => `/${name.replace(/[\\*?[\] ]/g, '\\$&')}\n`;

function requireSuccess(result: GitEnd & { stdout: string }): string {
  if (result.code !== 0) throw gitFailure('checking out the repository', result);
  return result.stdout;
}

function uploadInTheWay({ stderr }: GitResult): ServiceError | undefined {
  const name = /Untracked working tree file '(.*)' would be overwritten|Updating '(.*)' would lose untracked files/.exec(stderr);
  return name === null ? undefined : inTheWay(name[1] ?? (name[2] as string));
}

const inTheWay = (name: string): ServiceError =>
  new ServiceError(
    409,
    'upload_in_the_way',
    `The sandbox already contains ${name}, which the repository contains too. Start the run without that file, or upload it under another name.`,
  );

async function findGaps(call: (args: readonly string[]) => Promise<string>, gitFolder: string): Promise<Gaps> {
  const entries = (await call(['ls-files', '-z', '--stage'])).split('\0').filter((entry) => entry !== '');
  const submodules = entries.filter((entry) => entry.startsWith('160000 ')).map((entry) => textOf(entry.slice(entry.indexOf('\t') + 1)));
  const attributes = entries.some((entry) => /\t(?:.*\/)?\.gitattributes$/.test(entry))
    ? await call(['grep', '--cached', '--quiet', '-I', '-e', 'filter=lfs', '--', '.gitattributes', '**/.gitattributes']).then(
        () => true,
        () => false,
      )
    : false;
  const isShallow = await exists(path.join(gitFolder, 'shallow'));
  return { files: entries.length - submodules.length, submodules, usesLargeFileStorage: attributes, isShallow };
}

async function headOf(git: Git, repository: string, signal: AbortSignal): Promise<string | undefined> {
  if (!(await exists(repository))) return undefined;
  const { stdout } = await git.run(['rev-parse', 'HEAD'], { cwd: repository, env: { GIT_DIR: repository }, signal });
  return stdout.trim();
}

const exists = (place: string): Promise<boolean> =>
  lstat(place).then(
    () => true,
    () => false,
  );
