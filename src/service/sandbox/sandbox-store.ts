/**
 * The sandboxes of a service. On disk, a sandbox is `<root>/<id>/` with `workspace/` (what callers see), `staging/` (uploads in
 * progress), `tmp/` (TMPDIR of commands), and `browser/` (state of its browser).
 */

import { randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '../../base/remove-tree.ts';
import { ServiceError } from '../errors.ts';
import { systemPath } from './exec.ts';
import { hasCode } from './paths.ts';
import { Sandbox } from './sandbox.ts';

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
/** How often the creation of a sandbox is tried while it is put aside again and again. */
const maxAttempts = 10;

/** A sandbox that was taken out of use. */
export interface AsideSandbox {
  remove(): Promise<void>;
  /** Brings it back into use, unless another one with its ID exists. */
  putBack(): Promise<void>;
}

/** The sandboxes below one directory. */
export class SandboxStore {
  readonly #root: string;
  readonly #searchPath: string;
  readonly #onTrouble: (error: unknown) => void;
  /** The prefix of uploads that this process is receiving; files with other prefixes were left behind. */
  readonly #process = randomUUID();
  #isStagingSwept = false;
  /** The temporary sandboxes in use. */
  readonly #temporary = new Set<string>();

  /**
   * `path` is the PATH of commands; by default, the directories where systems keep their commands. `onProblem` is called with errors
   * that prevent something from being removed.
   */
  constructor(root: string, options: { path?: string; onProblem?: (error: unknown) => void } = {}) {
    this.#root = path.resolve(root);
    this.#onTrouble = options.onProblem ?? (() => undefined);
    this.#searchPath = options.path ?? systemPath;
  }

  /** Creates a sandbox, or opens an existing one. Throws `invalid_sandbox_id` for an ID that is not a plain word. */
  async create(id: string): Promise<Sandbox> {
    const home = this.#home(id);
    if (home === undefined) throw new ServiceError(400, 'invalid_sandbox_id', 'A sandbox ID can contain letters, digits, -, and _.');
    for (let attempt = 1; ; attempt++) {
      try {
        await mkdir(path.join(home, 'workspace'), { recursive: true, mode: 0o700 });
        return this.#sandbox(id, await realpath(home));
      } catch (error) {
        // It might have been put aside in the meantime.
        if (!hasCode(error, 'ENOENT') || attempt === maxAttempts) throw error;
      }
    }
  }

  /**
   * A sandbox whose folders do not exist yet, and are created when something needs them: every run has a sandbox, and many never write
   * to it. Undefined if something exists in its place, or it could not be created; `create` opens it then, or says why not.
   */
  newSandbox(id: string): Sandbox | undefined {
    if (!idPattern.test(id)) return undefined;
    try {
      const home = path.join(this.#realRoot(), id);
      return lstatSync(home, { throwIfNoEntry: false }) === undefined ? this.#sandbox(id, home, { isNew: true }) : undefined;
    } catch {
      return undefined;
    }
  }

  #realRoot(): string {
    try {
      return realpathSync.native(this.#root);
    } catch {
      mkdirSync(this.#root, { recursive: true, mode: 0o700 });
      return realpathSync.native(this.#root);
    }
  }

  /** The sandbox with this ID, or undefined if it does not exist. */
  async open(id: string): Promise<Sandbox | undefined> {
    const home = this.#home(id);
    if (home === undefined) return undefined;
    const stats = await lstat(path.join(home, 'workspace')).catch(() => undefined);
    if (!stats?.isDirectory()) return undefined;
    const realHome = await realpath(home).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    return realHome === undefined ? undefined : this.#sandbox(id, realHome);
  }

  /** The IDs of all sandboxes. */
  async ids(): Promise<string[]> {
    return (await readdir(this.#root).catch(() => [])).filter((name) => idPattern.test(name));
  }

  /** Does work in a sandbox that belongs to no run, and is removed afterwards. */
  async inTemporary<T>(work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    const id = randomUUID();
    // No sandbox ID contains a dot.
    const name = `${id}.temporary`;
    const home = path.join(this.#root, name);
    this.#temporary.add(name);
    try {
      await mkdir(path.join(home, 'workspace'), { recursive: true, mode: 0o700 });
      return await work(this.#sandbox(id, await realpath(home)));
    } finally {
      await this.#removeTree(home);
      this.#temporary.delete(name);
    }
  }

  /** Whether anything exists under this ID, even if it is not usable. */
  async exists(id: string): Promise<boolean> {
    const home = this.#home(id);
    return home !== undefined && (await exists(home));
  }

  /** Whether anything exists in place of its workspace, which is created after the rest. */
  async hasWorkspace(id: string): Promise<boolean> {
    const home = this.#home(id);
    return home !== undefined && (await exists(path.join(home, 'workspace')));
  }

  /**
   * Takes a sandbox out of use immediately; another one with the same ID can be created in the meantime. If something cannot be removed
   * afterwards, it is reported, and a sweep tries again.
   */
  async putAside(id: string): Promise<AsideSandbox> {
    const home = this.#home(id);
    if (home === undefined) return { remove: async () => undefined, putBack: async () => undefined };
    // No sandbox ID contains a dot.
    const removedPath = `${home}.${randomUUID()}.removed`;
    await rename(home, removedPath).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    return {
      remove: () => this.#removeTree(removedPath),
      putBack: () =>
        rename(removedPath, home).catch((error: unknown) => {
          // It did not exist, or another one has been created.
          if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].some((code) => hasCode(error, code))) throw error;
        }),
    };
  }

  /** Removes what a crash has left behind: sandboxes that were being removed, unnamed files, and incomplete uploads. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#root).catch(() => [])) {
      if (this.#temporary.has(name)) continue;
      if (/\.(removed|unnamed|temporary)$/.test(name)) await this.#removeTree(path.join(this.#root, name));
      else if (!this.#isStagingSwept) await this.#sweepStaging(path.join(this.#root, name, 'staging'));
    }
    // Files of this process are in use.
    this.#isStagingSwept = true;
  }

  async #sweepStaging(staging: string): Promise<void> {
    for (const name of await readdir(staging).catch(() => []))
      if (!name.startsWith(this.#process)) await this.#removeTree(path.join(staging, name));
  }

  /** An empty file on the disk of the sandboxes, for reading and writing. It has no name any more, so closing removes it. */
  async openAnonymousFile(): Promise<FileHandle> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    const name = path.join(this.#root, `${randomUUID()}.unnamed`);
    const handle = await open(name, 'wx+', 0o600);
    try {
      // A sweep might have been faster.
      await rm(name, { force: true });
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Removes a sandbox and everything in it, if it exists. */
  async remove(id: string): Promise<void> {
    const home = this.#home(id);
    if (home !== undefined) await removeTree(home);
  }

  /** Commands of runs might have left files that this user cannot remove; the rest is removed all the same. */
  #removeTree(place: string): Promise<void> {
    return removeTree(place).catch((error: unknown) => this.#onTrouble(error));
  }

  #sandbox(id: string, home: string, { isNew = false } = {}): Sandbox {
    return new Sandbox(id, home, { searchPath: this.#searchPath, process: this.#process, isNew });
  }

  #home(id: string): string | undefined {
    return idPattern.test(id) ? path.join(this.#root, id) : undefined;
  }
}

const exists = (place: string): Promise<boolean> =>
  lstat(place).then(
    () => true,
    () => false,
  );
