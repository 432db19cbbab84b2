/** The repositories that runs work on: reads their sources, checks them out into sandboxes, and determines what runs have changed. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { GuardedAgent } from '../outbound/guarded-agent.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { type Changes, readChanges } from './changes.ts';
import { type Checkout, checkOut, type Gaps } from './checkout.ts';
import { Git } from './git.ts';
import { type Base, readLocalBase } from './local-source.ts';
import { copyObjects, Mirrors } from './mirrors.ts';
import { checkRepositoryUrl, readRemoteBase, remoteAccess } from './remote-source.ts';
import type { RepositorySource } from './source.ts';

export type { ChangedFile, Changes } from './changes.ts';
export { patchName } from './changes.ts';
export { finishCheckOut, type Gaps } from './checkout.ts';
export type { Base } from './local-source.ts';
export { describeSource, isCommitId, type RepositorySource, shortCommit, sourceOf } from './source.ts';

/** What to check out into a sandbox. */
export interface RepositoryOrder {
  /** The team of the run; teams do not share mirrors. */
  teamId: string;
  source: RepositorySource;
  /** The commit; null if the source still has to be resolved. */
  commit: string | null;
  sourceBranch: string | null;
  branch: string;
}

export interface FilledWorkspace {
  commit: string;
  sourceBranch: string | undefined;
  gaps: Gaps;
}

export interface FillOptions {
  signal: AbortSignal;
  onProgress: (line: string) => void;
}

export class Repositories {
  readonly #root: string;
  readonly #git: Git;
  readonly #agent: GuardedAgent;
  readonly #mirrors: Mirrors;
  /** By sandbox: only one call at a time uses its repository. */
  readonly #queue = new KeyedQueue();

  /** @param options `path` is the PATH in which git is found; `agent` decides which hosts the service can connect to */
  constructor(root: string, options: { path: string; agent: GuardedAgent }) {
    this.#root = root;
    this.#agent = options.agent;
    this.#git = new Git({ path: options.path, home: path.join(root, 'home') });
    this.#mirrors = new Mirrors(path.join(root, 'mirrors'), this.#git);
  }

  /**
   * Checks a source before a run is created for it, without connecting to anything. A folder is resolved to its commit immediately.
   * Throws 400 if the source cannot be used, and 409 if git is missing.
   */
  async check(source: RepositorySource, signal: AbortSignal): Promise<{ source: RepositorySource; base: Base | undefined }> {
    await this.#prepareFolder();
    if (source.kind === 'path') {
      const base = await readLocalBase(this.#git, source, signal);
      return { source: { ...source, location: base.location }, base };
    }
    await this.#git.version(signal);
    return { source: { ...source, location: await checkRepositoryUrl(this.#agent, source.location) }, base: undefined };
  }

  /**
   * Calls `work` with a function that fetches a repository and checks it out into the sandbox. No other call uses the repository of
   * the sandbox until `work` has ended. If it is interrupted, it can be called again. Throws a ServiceError.
   */
  async prepare<Result>(
    sandbox: Sandbox,
    work: (fill: (order: RepositoryOrder, options: FillOptions) => Promise<FilledWorkspace>) => Promise<Result>,
  ): Promise<Result> {
    return this.#queue.run(sandbox.id, () => work((order, options) => this.#fill(order, sandbox, options)));
  }

  /** The changes in the workspace of a sandbox since this commit. */
  changes(sandbox: Sandbox, commit: string, signal: AbortSignal): Promise<Changes> {
    return this.#queue.run(sandbox.id, async () => {
      await this.#prepareFolder();
      return readChanges(this.#git, sandbox, commit, signal);
    });
  }

  /** Removes copies of repositories that have not been used for a week. @param now in milliseconds */
  sweep(now: number): Promise<void> {
    return this.#mirrors.sweep(now);
  }

  async #fill(order: RepositoryOrder, sandbox: Sandbox, options: FillOptions): Promise<FilledWorkspace> {
    await this.#prepareFolder();
    const { source } = order;
    const plan = source.kind === 'path' ? this.#localPlan(order) : await this.#remotePlan(order, options.signal);
    const checkout: Checkout = { commit: plan.commit, branch: order.branch, sourceBranch: plan.branch };
    const key = `${order.teamId}\n${source.kind}\n${source.location}`;
    const gaps = await checkOut(this.#git, sandbox, checkout, {
      ...options,
      copyObjects: (gitFolder) => this.#mirrors.withCommit(key, { ...plan, ...options }, (mirror) => copyObjects(mirror, gitFolder)),
    });
    return { commit: plan.commit, sourceBranch: plan.branch, gaps };
  }

  #localPlan({ source, commit, sourceBranch }: RepositoryOrder) {
    const id = commit as string;
    return { from: source.location, protocols: 'file' as const, options: [], commit: id, ref: id, branch: sourceBranch ?? undefined };
  }

  async #remotePlan({ source, commit, sourceBranch }: RepositoryOrder, signal: AbortSignal) {
    const { url, options } = await remoteAccess(this.#git, this.#agent, source.location, signal);
    const protocols = 'http:https' as const;
    if (commit !== null) return { from: url, protocols, options, commit, ref: commit, branch: sourceBranch ?? undefined };
    const base = await readRemoteBase(this.#git, { url, options }, source, { cwd: this.#root, signal });
    return { from: url, protocols, options, commit: base.commit, ref: base.fetchRef, branch: base.branch };
  }

  /** Creates the home directory of git, which stays empty, so that no configuration applies. */
  async #prepareFolder(): Promise<void> {
    await mkdir(path.join(this.#root, 'home'), { recursive: true, mode: 0o700 });
  }
}
