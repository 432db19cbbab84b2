/**
 * Compares a workspace with the commit from which its run started. The repository in the workspace belongs to the agent, which can
 * change its configuration, refs, and history at will. So another one is used, next to the workspace, which only reads the objects of
 * the former; it contains no configuration and follows no refs.
 */
import { lstat, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '../../base/remove-tree.ts';
import { ServiceError } from '../errors.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { type Git, type GitOptions, textOf } from './git.ts';
import { gitFailure } from './problems.ts';
import { objectFormatOf } from './source.ts';

/** A file that differs from the base. */
export interface ChangedFile {
  path: string;
  change: 'added' | 'changed' | 'removed' | 'renamed';
  /** The path in the base, if it was renamed. */
  oldPath: string | null;
  /** Bytes; null if it does not exist on that side, or is a submodule. */
  sizeBefore: number | null;
  sizeAfter: number | null;
  /** In octal, as git has them: 100644, 100755, 120000 for a link. */
  modeBefore: string | null;
  modeAfter: string | null;
  /** Lines; null for a binary file. */
  addedLines: number | null;
  removedLines: number | null;
}

export interface Changes {
  /** The tree of the workspace, which identifies this state of its files. */
  tree: string;
  files: ChangedFile[];
  /** Folders with a repository of their own, which are left out. */
  nested: string[];
  /** The number of bytes of the patch; 0 if nothing has changed. */
  patchSize: number;
}

/** Milliseconds for all calls of git. */
const timeLimit = 2 * 60_000;
const task = "comparing the run's files with its repository";

/** The changes in a workspace now. Throws 409 `repository_damaged` if the objects of the base are missing. */
export async function readChanges(git: Git, sandbox: Sandbox, base: string, signal: AbortSignal): Promise<Changes> {
  const review = await openReview(git, sandbox, base, signal);
  const nested = await review.stage();
  const tree = (await review.call(['write-tree'])).trim();
  const files = await listFiles(review, base, tree);
  const patch = await patchFile(sandbox, tree);
  const patchSize = files.length === 0 ? 0 : ((await sizeOf(patch)) ?? (await writePatch(review, base, tree, patch)));
  return { tree, files, nested, patchSize };
}

/** The file with the patch of a tree. It exists if `readChanges` returned the tree and it differs from the base. */
export async function patchFile(sandbox: Sandbox, tree: string): Promise<string> {
  return path.join(await sandbox.privateFolder(folderName), `${tree}.patch`);
}

const folderName = 'review';

interface Review {
  call(args: readonly string[], options?: Partial<GitOptions>): Promise<string>;
  /** Brings the index up to date with the files. Returns the nested repositories. */
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
    if (result.code !== 0) throw isDamaged(result.stderr) ? damaged() : gitFailure(task, result);
    return result.stdout;
  };
  if ((await sizeOf(path.join(gitFolder, 'ready'))) === undefined) {
    await removeTree(gitFolder);
    await call(['init', '--quiet', '--bare', '--template=', `--object-format=${objectFormatOf(base)}`, gitFolder], {
      cwd: folder,
      env: {},
    });
    await call(['config', 'core.bare', 'false']);
    // Relative to the folder of the objects, so that it stays valid when the data directory is moved.
    await writeFile(path.join(gitFolder, 'objects', 'info', 'alternates'), '../../../workspace/.git/objects\n');
    await call(['read-tree', base]);
    await writeFile(path.join(gitFolder, 'ready'), '');
  }
  // What the run excluded from its own status is not a change either, and the uploads are listed there.
  const ignoring = ['-c', `core.excludesFile=${path.join(sandbox.directory, '.git', 'info', 'exclude')}`];
  const update = async (names: readonly string[], ...options: string[]): Promise<void> => {
    if (names.length > 0) await call(['update-index', '-z', ...options, '--stdin'], { input: `${names.join('\0')}\0` });
  };
  return {
    call,
    async stage() {
      // A lock that is left over from a call that was terminated: calls for one sandbox are made one after the other.
      await rm(path.join(gitFolder, 'index.lock'), { force: true });
      const list = async (...args: string[]): Promise<string[]> =>
        (await call([...ignoring, 'ls-files', '-z', ...args])).split('\0').filter((name) => name !== '');
      // Remembers which files are unchanged. It ends with 1 if some are not.
      await git.run(['update-index', '-q', '--refresh'], { cwd: sandbox.directory, env, signal, timeLimit, task });
      const others = await list('--others', '--exclude-standard');
      const isFolder = (name: string): boolean => name.endsWith('/');
      const { written, removed } = await sortTracked(sandbox.directory, await list('--stage', '--modified', '--deleted'));
      await update(removed, '--force-remove');
      await update([...others.filter((name) => !isFolder(name)), ...written], '--add', '--remove', '--replace');
      return others.filter(isFolder).map((name) => textOf(name.slice(0, -1)));
    },
  };
}

/**
 * Sorts tracked files that differ, as `ls-files --stage` lists them. One below a folder that has become a link is removed: git does
 * not look behind links. A submodule in which the run has checked something out stays as it was.
 */
async function sortTracked(workspace: string, lines: readonly string[]): Promise<{ written: string[]; removed: string[] }> {
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
  const [written, removed] = [new Set<string>(), new Set<string>()];
  for (const line of lines) {
    const name = line.slice(line.indexOf('\t') + 1);
    const stats = (await isFolder(path.posix.dirname(name))) ? await statsOf(name) : undefined;
    if (stats === undefined || (stats.isDirectory() && !line.startsWith(submoduleMode))) removed.add(name);
    else if (!stats.isDirectory()) written.add(name);
  }
  return { written: [...written], removed: [...removed] };
}

const submoduleMode = '160000';

const isDamaged = (stderr: string): boolean =>
  /bad object|unable to read tree|not a valid object name|failed to unpack tree|missing (?:blob|tree)|unable to read [0-9a-f]{40}|not a tree object/i.test(
    stderr,
  );

const damaged = (): ServiceError =>
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

/** The output of `git diff-tree --raw -z` (git-diff-tree(1), RAW OUTPUT FORMAT). */
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

/** The output of `git diff-tree --numstat -z`: a renamed file has its two names after the counts. */
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

/** Writes the patch, which appears complete or not at all. Returns its size. */
async function writePatch(review: Review, base: string, tree: string, file: string): Promise<number> {
  const temporary = `${file}.partial`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    const form = ['--patch', '--binary', '--full-index', '--find-renames', '--no-ext-diff', '--no-textconv', '--no-color'];
    await review.call(['diff-tree', '-r', ...form, '--src-prefix=a/', '--dst-prefix=b/', base, tree], { output: handle.fd });
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
