/**
 * Copies of repositories in the data directory, so that each is read once for many runs. A mirror is bare and contains the history of
 * the commits from which runs have started, and nothing else: no other branches, no remote, and no configuration. It is a cache, which
 * can be removed at any time; runs have their own copies.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '../../base/remove-tree.ts';
import { ServiceError } from '../errors.ts';
import { hasCode } from '../sandbox/paths.ts';
import type { Git } from './git.ts';
import { gitFailure } from './problems.ts';
import { objectFormatOf } from './source.ts';
import { Turns } from './turns.ts';

/** What is fetched into a mirror. */
export interface Fetch {
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

/** Milliseconds for fetching a repository. */
export const fetchLimit = 15 * 60_000;
/** Milliseconds for which a mirror is kept after its last use. */
const idleTime = 7 * 24 * 60 * 60_000;
/** The number of packs from which they are combined. */
const maxPacks = 40;
/** Exists in a mirror while git changes it, so that an unfinished one is recognised. */
const busyName = 'aops-busy';

export class Mirrors {
  readonly #root: string;
  readonly #git: Git;
  /** Each mirror is changed or copied by one run at a time. */
  readonly #turns = new Turns();

  constructor(root: string, git: Git) {
    this.#root = root;
    this.#git = git;
  }

  /**
   * Calls `use` with the folder of the mirror when it contains the commit, which is fetched if necessary. No other call changes the
   * mirror in the meantime.
   */
  async withCommit<Result>(key: string, fetch: Fetch, use: (mirror: string) => Promise<Result>): Promise<Result> {
    const name = createHash('sha256').update(key).digest('hex').slice(0, 32);
    return this.#turns.take(name, async () => {
      fetch.signal.throwIfAborted();
      const mirror = path.join(this.#root, name);
      await this.#fetch(mirror, fetch);
      return use(mirror);
    });
  }

  /** Removes mirrors that have not been used for a week, and what a crash has left behind. @param now in milliseconds */
  async sweep(now: number): Promise<void> {
    for (const name of await readdir(this.#root).catch(() => [])) {
      if (this.#turns.isTaken(name)) continue;
      const mirror = path.join(this.#root, name);
      const stats = await stat(mirror).catch(() => undefined);
      if (stats !== undefined && stats.mtimeMs < now - idleTime) await removeTree(mirror);
    }
  }

  async #fetch(mirror: string, fetch: Fetch): Promise<void> {
    const { commit, signal } = fetch;
    const busy = path.join(mirror, busyName);
    // Git was interrupted in the middle of a change: the locks that it left behind, and what they protect, cannot be trusted.
    if (await exists(busy)) await removeTree(mirror);
    await mkdir(mirror, { recursive: true, mode: 0o700 });
    if (await exists(path.join(mirror, 'HEAD'))) {
      const known = await this.#git.run(['rev-parse', '--verify', '--quiet', refOf(commit)], {
        cwd: mirror,
        signal,
        env: { GIT_DIR: mirror },
      });
      if (known.code === 0) return await touch(mirror);
    }
    await writeFile(busy, '');
    try {
      await this.#change(mirror, fetch);
    } catch (error) {
      // What is missing is fetched again; a problem of the disk must not be made worse.
      await removeTree(mirror).catch(() => undefined);
      throw error;
    }
    await rm(busy);
    await touch(mirror);
  }

  async #change(mirror: string, { from, protocols, options, commit, ref, onProgress, signal }: Fetch): Promise<void> {
    const env = { GIT_DIR: mirror };
    const call = async (task: string, args: readonly string[], extras: { protocols?: 'file' | 'http:https' } = {}): Promise<void> => {
      const result = await this.#git.run(args, { cwd: mirror, env, signal, timeLimit: fetchLimit, task, onProgress, ...extras });
      if (result.code !== 0) throw gitFailure(task, result);
    };
    if (!(await exists(path.join(mirror, 'HEAD'))))
      await call('creating a mirror', ['init', '--quiet', '--bare', '--template=', `--object-format=${objectFormatOf(commit)}`]);
    await call(
      `fetching ${from}`,
      [...options, 'fetch', '--progress', '--no-tags', '--no-write-fetch-head', '--update-shallow', '--', from, `+${ref}:${refOf(commit)}`],
      { protocols },
    );
    // A tag leads to its commit, and a branch might have moved since it was read.
    const kept = await this.#git.run(['update-ref', refOf(commit), commit], { cwd: mirror, env, signal });
    if (kept.code !== 0)
      throw new ServiceError(409, 'ref_not_found', `The commit ${commit} is not part of what was fetched from ${from}. Start another run.`);
    if ((await packsOf(mirror)).filter((name) => name.endsWith('.pack')).length >= maxPacks)
      await call('combining the packs of a mirror', ['repack', '--quiet', '-a', '-d']);
  }
}

const refOf = (commit: string): string => `refs/aops/${commit}`;

/** Copies all objects of a mirror into a new repository. The file system shares the space of the copies if it can. */
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
