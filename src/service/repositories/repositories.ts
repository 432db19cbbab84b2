/** The repositories on which runs work: where they come from, how they get into a sandbox, and what the run changed in them. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { GuardedAgent } from '../outbound/guarded-agent.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { type Changes, readChanges } from './changes.ts';
import { type Checkout, checkOut, type Gaps } from './checkout.ts';
import { Git } from './git.ts';
import { type Base, readLocalBase } from './local-source.ts';
import { copyObjects, Mirrors } from './mirrors.ts';
import { checkRepositoryUrl, readRemoteBase, remoteAccess } from './remote-source.ts';
import type { RepositorySource } from './source.ts';
import { Turns } from './turns.ts';

export type { ChangedFile, Changes } from './changes.ts';
export { patchFile } from './changes.ts';
export { finishCheckOut, type Gaps } from './checkout.ts';
export type { Base } from './local-source.ts';
export { inWords, isCommitId, type RepositorySource, shortCommit, sourceOf } from './source.ts';

/** What is fetched for a sandbox. */
export interface RepositoryOrder {
  /** Teams do not share mirrors. */
  teamId: string;
  source: RepositorySource;
  /** The commit, if it has been determined. */
  commit: string | null;
  sourceBranch: string | null;
  branch: string;
}

export interface FilledWorkspace {
  commit: string;
  sourceBranch: string | undefined;
  gaps: Gaps;
}

export interface Attention {
  signal: AbortSignal;
  onProgress: (line: string) => void;
}

export class Repositories {
  readonly #root: string;
  readonly #git: Git;
  readonly #agent: GuardedAgent;
  readonly #mirrors: Mirrors;
  /** The repository of a sandbox is used by one call at a time. */
  readonly #turns = new Turns();

  /** @param options `path` is the PATH in which git is found; `agent` decides to which hosts the service may connect */
  constructor(root: string, options: { path: string; agent: GuardedAgent }) {
    this.#root = root;
    this.#agent = options.agent;
    this.#git = new Git({ path: options.path, home: path.join(root, 'home') });
    this.#mirrors = new Mirrors(path.join(root, 'mirrors'), this.#git);
  }

  /**
   * Checks a source before a run is created for it, without connecting to anything. The commit of a folder is determined now.
   * Throws 400 for what cannot be used, 409 if git is missing.
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
   * Fetches the repository and checks it out into the sandbox. If that was interrupted, call it again. No other call uses the sandbox
   * until `work`, which is called with `fill`, has ended. Throws a ServiceError.
   */
  async preparing<Result>(
    sandbox: Sandbox,
    work: (fill: (order: RepositoryOrder, attention: Attention) => Promise<FilledWorkspace>) => Promise<Result>,
  ): Promise<Result> {
    return this.#turns.take(sandbox.id, () => work((order, attention) => this.#fill(order, sandbox, attention)));
  }

  /** The changes in the workspace of a sandbox since this commit. */
  changes(sandbox: Sandbox, commit: string, signal: AbortSignal): Promise<Changes> {
    return this.#turns.take(sandbox.id, async () => {
      await this.#prepareFolder();
      return readChanges(this.#git, sandbox, commit, signal);
    });
  }

  /** Removes copies of repositories that have not been used for a week. @param now in milliseconds */
  sweep(now: number): Promise<void> {
    return this.#mirrors.sweep(now);
  }

  async #fill(order: RepositoryOrder, sandbox: Sandbox, attention: Attention): Promise<FilledWorkspace> {
    await this.#prepareFolder();
    const { source } = order;
    const plan = source.kind === 'path' ? this.#localPlan(order) : await this.#remotePlan(order, attention.signal);
    const checkout: Checkout = { commit: plan.commit, branch: order.branch, sourceBranch: plan.branch };
    const key = `${order.teamId}\n${source.kind}\n${source.location}`;
    const gaps = await checkOut(this.#git, sandbox, checkout, {
      ...attention,
      copyObjects: (gitFolder) => this.#mirrors.withCommit(key, { ...plan, ...attention }, (mirror) => copyObjects(mirror, gitFolder)),
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
    return { from: url, protocols, options, commit: base.commit, ref: base.fetch, branch: base.branch };
  }

  /** The home of git stays empty, so that no configuration applies. */
  async #prepareFolder(): Promise<void> {
    await mkdir(path.join(this.#root, 'home'), { recursive: true, mode: 0o700 });
  }
}
