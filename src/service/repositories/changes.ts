/**
 * Compares a workspace with the commit that its run started from. The repository in the workspace belongs to the agent, which can
 * change its configuration, refs, and history at will. So another repository next to the workspace is used, which only reads the
 * objects of the first one, and neither its configuration nor its refs.
 */
import { lstat, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '../../base/remove-tree.ts';
import { ServiceError } from '../errors.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { configure } from './config.ts';
import { type Git, type GitOptions, textOf } from './git.ts';
import { gitFailure } from './problems.ts';
import { objectFormatOf } from './source.ts';

/** A file that differs from the base. */
export interface ChangedFile {
  path: string;
  change: 'added' | 'changed' | 'removed' | 'renamed';
  /** The path in the base, if it was renamed. */
  oldPath: string | null;
  /** Bytes; null if the file does not exist on that side, or is a submodule. */
  sizeBefore: number | null;
  sizeAfter: number | null;
  /** In octal, as in git: 100644, 100755, 120000 for a link. */
  modeBefore: string | null;
  modeAfter: string | null;
  /** The number of lines; null for a binary file. */
  addedLines: number | null;
  removedLines: number | null;
}

export interface Changes {
  /** The tree of the workspace, which identifies this state of its files. */
  tree: string;
  files: ChangedFile[];
  /** Folders that are repositories themselves, which are left out. */
  nestedRepositories: string[];
  /** The number of bytes of the patch; 0 if nothing has changed. */
  patchSize: number;
}

/** The time limit for all calls of git together, in milliseconds. */
const timeLimit = 2 * 60_000;
const task = "comparing the run's files with its repository";

/** The changes in a workspace now. Throws 409 `repository_damaged` if the objects of the base are missing. */
export async function readChanges(git: Git, sandbox: Sandbox, base: string, signal: AbortSignal): Promise<Changes> {
  const review = await openReview(git, sandbox, base, signal);
  const nestedRepositories = await review.stage();
  const tree = (await review.call(['write-tree'])).trim();
  const files = await listFiles(review, base, tree);
  const patch = await patchFile(sandbox, tree);
  const patchSize = files.length === 0 ? 0 : ((await sizeOf(patch)) ?? (await writePatch(review, base, tree, patch)));
  return { tree, files, nestedRepositories, patchSize };
}

/** The path of the patch of a tree. The file exists if `readChanges` has returned this tree, and it differs from the base. */
async function patchFile(sandbox: Sandbox, tree: string): Promise<string> {
  return path.join(await sandbox.privateFolder(folderName), `${tree}.patch`);
}

/** The name of that file in the private folders of the sandbox. */
export const patchName = (tree: string): string => `${folderName}/${tree}.patch`;

const folderName = 'review';

interface Review {
  call(args: readonly string[], options?: Partial<GitOptions>): Promise<string>;
  /** Updates the index from the files. Returns the nested repositories. */
  stage(): Promise<string[]>;
}

async function openReview(git: Git, sandbox: Sandbox, base: string, signal: AbortSignal): Promise<Review> {
  const folder = await sandbox.privateFolder(folderName);
  const gitFolder = path.join(folder, 'git');
  const env = { GIT_DIR: gitFolder, GIT_WORK_TREE: sandbox.directory };
  const deadline = performance.now() + timeLimit;
  const call: Review['call'] = async (args, options) => {
    const remaining = Math.max(1, deadline - performance.now());
    const result = await git.run(args, { cwd: sandbox.directory, env, signal, timeLimit: remaining, task, ...options });
    if (result.code !== 0) throw isDamaged(result.stderr) ? damageError() : gitFailure(task, result);
    return result.stdout;
  };
  if ((await sizeOf(path.join(gitFolder, 'ready'))) === undefined) {
    await removeTree(gitFolder);
    await call(['init', '--quiet', '--bare', '--template=', `--object-format=${objectFormatOf(base)}`, gitFolder], {
      cwd: folder,
      env: {},
    });
    await configure(gitFolder, { core: { bare: 'false' } });
    // The path is relative to the objects folder, so that it remains valid if the data directory is moved.
    await writeFile(path.join(gitFolder, 'objects', 'info', 'alternates'), '../../../workspace/.git/objects\n');
    await call(['read-tree', base]);
    await writeFile(path.join(gitFolder, 'ready'), '');
  }
  // Files that the run excludes from its own status, which include the uploads, are not changes.
  const ignoreOptions = ['-c', `core.excludesFile=${path.join(sandbox.directory, '.git', 'info', 'exclude')}`];
  const update = async (names: readonly string[], ...options: string[]): Promise<void> => {
    if (names.length > 0) await call(['update-index', '-z', ...options, '--stdin'], { input: `${names.join('\0')}\0` });
  };
  return {
    call,
    async stage() {
      // Any lock is left over from a call that was terminated, because calls for one sandbox run one after the other.
      await rm(path.join(gitFolder, 'index.lock'), { force: true });
      const list = async (...args: string[]): Promise<string[]> =>
        (await call([...ignoreOptions, 'ls-files', '-z', ...args])).split('\0').filter((name) => name !== '');
      // Records which files are unchanged. The exit code is 1 if any file has changed.
      await git.run(['update-index', '-q', '--refresh'], { cwd: sandbox.directory, env, signal, timeLimit, task });
      const untrackedFiles = await list('--others', '--exclude-standard');
      const isFolder = (name: string): boolean => name.endsWith('/');
      const { changedFiles, removedFiles } = await sortTracked(sandbox.directory, await list('--stage', '--modified', '--deleted'));
      await update(removedFiles, '--force-remove');
      await update([...untrackedFiles.filter((name) => !isFolder(name)), ...changedFiles], '--add', '--remove', '--replace');
      return untrackedFiles.filter(isFolder).map((name) => textOf(name.slice(0, -1)));
    },
  };
}

/**
 * Sorts tracked files that differ, as `ls-files --stage` lists them. A file below a folder that has become a link counts as removed,
 * because git does not follow links. A submodule that the run has checked out is left unchanged.
 */
async function sortTracked(workspace: string, lines: readonly string[]): Promise<{ changedFiles: string[]; removedFiles: string[] }> {
  const root = Buffer.from(`${workspace}/`);
  const statsOf = (name: string) => lstat(Buffer.concat([root, Buffer.from(name, 'latin1')])).catch(() => undefined);
  const folders = new Map<string, Promise<boolean>>();
  const isFolder = (name: string): Promise<boolean> => {
    if (name === '.') return Promise.resolve(true);
    const result =
      folders.get(name) ?? isFolder(path.posix.dirname(name)).then(async (above) => above && (await statsOf(name))?.isDirectory() === true);
    folders.set(name, result);
    return result;
  };
  const [changedFiles, removedFiles] = [new Set<string>(), new Set<string>()];
  for (const line of lines) {
    const name = line.slice(line.indexOf('\t') + 1);
    const stats = (await isFolder(path.posix.dirname(name))) ? await statsOf(name) : undefined;
    if (stats === undefined || (stats.isDirectory() && !line.startsWith(submoduleMode))) removedFiles.add(name);
    else if (!stats.isDirectory()) changedFiles.add(name);
  }
  return { changedFiles: [...changedFiles], removedFiles: [...removedFiles] };
}

const submoduleMode = '160000';

const isDamaged = (stderr: string): boolean =>
  /bad object|unable to read tree|not a valid object name|failed to unpack tree|missing (?:blob|tree)|unable to read [0-9a-f]{40}|not a tree object/i.test(
    stderr,
  );

const damageError = (): ServiceError =>
  new ServiceError(
    409,
    'repository_damaged',
    'The run has removed or damaged the history of its repository, so its changes cannot be determined. Its files can still be downloaded with `aops sandbox pull`.',
  );

async function listFiles(review: Review, base: string, tree: string): Promise<ChangedFile[]> {
  const compare = ['diff-tree', '-r', '-z', '--find-renames', '--no-ext-diff', '--no-textconv', '--no-abbrev'];
  const entries = rawEntries(await review.call([...compare, '--raw', base, tree]));
  const lines = lineCounts(await review.call([...compare, '--numstat', base, tree]));
  const sizes = await sizesOf(review, entries);
  return entries.map(({ status, path: name, oldPath, before, after }, index) => ({
    path: textOf(name),
    change: changes[status] ?? 'changed',
    oldPath: status === 'R' ? textOf(oldPath as string) : null,
    sizeBefore: sizes.get(before.id) ?? null,
    sizeAfter: sizes.get(after.id) ?? null,
    modeBefore: modeOf(before.mode),
    modeAfter: modeOf(after.mode),
    addedLines: lines[index]?.added ?? null,
    removedLines: lines[index]?.removed ?? null,
  }));
}

const changes: Record<string, ChangedFile['change']> = { A: 'added', D: 'removed', R: 'renamed' };
const modeOf = (mode: string): string | null => (/^0+$/.test(mode) ? null : mode);

interface RawEntry {
  status: string;
  path: string;
  oldPath: string | undefined;
  before: { mode: string; id: string };
  after: { mode: string; id: string };
}

/** Parses the output of `git diff-tree --raw -z` (git-diff-tree(1), RAW OUTPUT FORMAT). */
function rawEntries(output: string): RawEntry[] {
  const words = output.split('\0');
  const entries: RawEntry[] = [];
  for (let index = 0; index < words.length; ) {
    const [, modeBefore, modeAfter, idBefore, idAfter, status] =
      /^:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])/.exec(words[index++] ?? '') ?? [];
    if (status === undefined) continue;
    const first = words[index++] as string;
    const isPair = status === 'R' || status === 'C';
    const second = isPair ? (words[index++] as string) : undefined;
    const [before, after] = [
      { mode: modeBefore as string, id: idBefore as string },
      { mode: modeAfter as string, id: idAfter as string },
    ];
    entries.push({ status, path: second ?? first, oldPath: second === undefined ? undefined : first, before, after });
  }
  return entries;
}

/** Parses the output of `git diff-tree --numstat -z`, in which a renamed file has two names after the counts. */
function lineCounts(output: string): { added: number | null; removed: number | null }[] {
  const count = (text: string | undefined): number | null => (text === undefined || text === '-' ? null : Number(text));
  return [...output.matchAll(/(\d+|-)\t(\d+|-)\t(?:\0[^\0]*\0[^\0]*|[^\0]+)\0/g)].map(([, added, removed]) => ({
    added: count(added),
    removed: count(removed),
  }));
}

async function sizesOf(review: Review, entries: readonly RawEntry[]): Promise<Map<string, number>> {
  const isBlob = ({ mode }: { mode: string }): boolean => !/^0+$|^160000$/.test(mode);
  const ids = [...new Set(entries.flatMap(({ before, after }) => [before, after].filter(isBlob).map(({ id }) => id)))];
  if (ids.length === 0) return new Map();
  const output = await review.call(['cat-file', '--batch-check=%(objectname) %(objectsize)'], { input: `${ids.join('\n')}\n` });
  return new Map([...output.matchAll(/^([0-9a-f]+) (\d+)$/gm)].map(([, id, size]) => [id as string, Number(size)]));
}

/** Writes the patch atomically. Returns its size. */
async function writePatch(review: Review, base: string, tree: string, file: string): Promise<number> {
  const temporary = `${file}.partial`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    const format = ['--patch', '--binary', '--full-index', '--find-renames', '--no-ext-diff', '--no-textconv', '--no-color'];
    await review.call(['diff-tree', '-r', ...format, '--src-prefix=a/', '--dst-prefix=b/', base, tree], { output: handle.fd });
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  return (await sizeOf(file)) ?? 0;
}

const sizeOf = (file: string): Promise<number | undefined> =>
  stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
