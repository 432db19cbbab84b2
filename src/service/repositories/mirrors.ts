/**
 * Copies of repositories in the data directory, so that each repository is fetched once for many runs. A mirror is bare and contains only
 * the history of the commits that runs have started from: no other branches, no remote, and no configuration. It is a cache that can be
 * removed at any time, because runs have their own copies.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { removeTree } from '../../base/remove-tree.ts';
import { ServiceError } from '../errors.ts';
import { hasCode } from '../sandbox/paths.ts';
import type { Git } from './git.ts';
import { gitFailure } from './problems.ts';
import { objectFormatOf } from './source.ts';

/** What to fetch into a mirror. */
export interface FetchOptions {
  /** A path or a URL. */
  from: string;
  protocols: 'file' | 'http:https';
  /** Options of git. */
  options: readonly string[];
  commit: string;
  /** The ref that contains the commit, or the commit. */
  ref: string;
  onProgress: (line: string) => void;
  signal: AbortSignal;
}

/** The time limit for fetching a repository, in milliseconds. */
export const fetchLimit = 15 * 60_000;
/** How long a mirror is retained after its last use, in milliseconds. */
const idleTime = 7 * 24 * 60 * 60_000;
/** The number of packs at which they are combined. */
const maxPacks = 40;
/** The name of a file that exists in a mirror while git changes it, so that an incomplete mirror is recognised. */
const busyName = 'aops-busy';

export class Mirrors {
  readonly #root: string;
  readonly #git: Git;
  /** By mirror: only one run at a time changes or copies it. */
  readonly #queue = new KeyedQueue();

  constructor(root: string, git: Git) {
    this.#root = root;
    this.#git = git;
  }

  /**
   * Fetches the commit into the mirror if necessary, and calls `use` with the folder of the mirror. No other call changes the mirror
   * until `use` has ended.
   */
  async withCommit<Result>(key: string, fetch: FetchOptions, use: (mirror: string) => Promise<Result>): Promise<Result> {
    const name = createHash('sha256').update(key).digest('hex').slice(0, 32);
    return this.#queue.run(name, async () => {
      fetch.signal.throwIfAborted();
      const mirror = path.join(this.#root, name);
      await this.#fetch(mirror, fetch);
      return use(mirror);
    });
  }

  /** Removes mirrors that have not been used for a week, including those that a crash has left behind. @param now in milliseconds */
  async sweep(now: number): Promise<void> {
    for (const name of await readdir(this.#root).catch(() => [])) {
      if (this.#queue.isBusy(name)) continue;
      const mirror = path.join(this.#root, name);
      const stats = await stat(mirror).catch(() => undefined);
      if (stats !== undefined && stats.mtimeMs < now - idleTime) await removeTree(mirror);
    }
  }

  async #fetch(mirror: string, fetch: FetchOptions): Promise<void> {
    const { commit, signal } = fetch;
    const busyFile = path.join(mirror, busyName);
    // git was interrupted during a change, so neither its locks nor the files that they protect can be trusted.
    if (await exists(busyFile)) await removeTree(mirror);
    await mkdir(mirror, { recursive: true, mode: 0o700 });
    if (await exists(path.join(mirror, 'HEAD'))) {
      const existing = await this.#git.run(['rev-parse', '--verify', '--quiet', refOf(commit)], {
        cwd: mirror,
        signal,
        env: { GIT_DIR: mirror },
      });
      if (existing.code === 0) return await touch(mirror);
    }
    await writeFile(busyFile, '');
    try {
      await this.#change(mirror, fetch);
    } catch (error) {
      // The next call fetches it again. An error while removing it must not hide the first error.
      await removeTree(mirror).catch(() => undefined);
      throw error;
    }
    await rm(busyFile);
    await touch(mirror);
  }

  async #change(mirror: string, { from, protocols, options, commit, ref, onProgress, signal }: FetchOptions): Promise<void> {
    const env = { GIT_DIR: mirror };
    const call = async (task: string, args: readonly string[], overrides: { protocols?: 'file' | 'http:https' } = {}): Promise<void> => {
      const result = await this.#git.run(args, { cwd: mirror, env, signal, timeLimit: fetchLimit, task, onProgress, ...overrides });
      if (result.code !== 0) throw gitFailure(task, result);
    };
    if (!(await exists(path.join(mirror, 'HEAD'))))
      await call('creating a mirror', ['init', '--quiet', '--bare', '--template=', `--object-format=${objectFormatOf(commit)}`]);
    await call(
      `fetching ${from}`,
      [...options, 'fetch', '--progress', '--no-tags', '--no-write-fetch-head', '--update-shallow', '--', from, `+${ref}:${refOf(commit)}`],
      { protocols },
    );
    // The ref might be a tag that points to the commit, or a branch that has moved since it was read.
    const update = await this.#git.run(['update-ref', refOf(commit), commit], { cwd: mirror, env, signal });
    if (update.code !== 0)
      throw new ServiceError(409, 'ref_not_found', `The commit ${commit} is not part of what was fetched from ${from}. Start another run.`);
    if ((await packsOf(mirror)).filter((name) => name.endsWith('.pack')).length >= maxPacks)
      await call('combining the packs of a mirror', ['repack', '--quiet', '-a', '-d']);
  }
}

const refOf = (commit: string): string => `refs/aops/${commit}`;

/** Copies all objects of a mirror into a new repository. File systems that support it share the disk space of the copies. */
export async function copyObjects(mirror: string, gitFolder: string): Promise<void> {
  const target = path.join(gitFolder, 'objects', 'pack');
  await mkdir(target, { recursive: true });
  for (const name of await packsOf(mirror))
    await copyFile(path.join(mirror, 'objects', 'pack', name), path.join(target, name), constants.COPYFILE_FICLONE);
  await copyFile(path.join(mirror, 'shallow'), path.join(gitFolder, 'shallow')).catch((error: unknown) => {
    if (!hasCode(error, 'ENOENT')) throw error;
  });
}

const packsOf = async (mirror: string): Promise<string[]> =>
  (await readdir(path.join(mirror, 'objects', 'pack')).catch(() => [])).filter((name) => /^pack-[0-9a-f]+\.\w+$/.test(name));

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

const touch = (mirror: string): Promise<void> => utimes(mirror, new Date(), new Date());
