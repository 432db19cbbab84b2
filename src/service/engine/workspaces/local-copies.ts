/** The copies of sandboxes on this node. Those that are no longer needed are removed from time to time: everything is in the record. */
import { KeyedQueue } from '../../../base/keyed-queue.ts';
import { errorFields } from '../../log.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { SandboxStore } from '../../sandbox/sandbox-store.ts';
import { existingSandboxes } from '../../store/runs/workspace-files.ts';
import type { RunWorkspace } from '../run-workspaces.ts';
import { LocalCopy } from './local-copy.ts';
import { SharedRun } from './shared-run.ts';
import type { BytesEngine } from './stored-bytes.ts';

/** Milliseconds between two searches for what is no longer needed. */
const sweepInterval = 60 * 60 * 1_000;
/** How long a copy is kept after its last use, in milliseconds. */
const idleTime = 24 * 60 * 60 * 1_000;

/** Copies of runs that have ended that are known, so that their files are read from this machine. */
const defaultMaxEnded = 1_000;

interface Entry {
  copy: LocalCopy;
  /** Whether the folders may differ from the record only by what this node has changed. */
  isTrusted: boolean;
  /** The sandbox for the run that creates the folders, in which only this run has written if nobody else has opened them since. */
  created?: Sandbox | undefined;
  /** The number of executions that use it. */
  users: number;
  lastUsedAt: number;
}

interface OpenOptions {
  created?: Sandbox | undefined;
  signal: AbortSignal;
}

export interface CopiesOptions {
  sandboxes: SandboxStore;
  /** Names this process. */
  node: string;
  /** Removes what else is left over on this node, after each search. */
  sweep: () => Promise<void>;
  /** How many copies are known whose runs have ended; 1,000 by default. The others are only folders until they are needed again. */
  maxEnded?: number;
}

export class LocalCopies {
  readonly #engine: BytesEngine;
  readonly #options: CopiesOptions;
  readonly #entries = new Map<string, Entry>();
  /** The sandboxes of runs that have ended, in the order of their ends. */
  readonly #ended = new Set<string>();
  /** By sandbox: one thing at a time compares a copy with its record. */
  readonly #queue = new KeyedQueue();
  readonly #closing = new AbortController();
  readonly #startedAt: number;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(engine: BytesEngine, options: CopiesOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#startedAt = engine.clock.now();
  }

  /** From now on, the copy is not used without comparing it with the record. */
  distrust(id: string): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.isTrusted = false;
  }

  /** A sandbox without recorded files, unless its folders exist. Whoever else opens them compares them with the record. */
  newSandbox(id: string): Sandbox | undefined {
    const created = this.#options.sandboxes.newSandbox(id);
    const isUsed = (this.#entries.get(id)?.users ?? 0) > 0;
    if (created !== undefined && !isUsed) this.#add(id, created.sameFolders()).created = created;
    return created;
  }

  /** The copy for an execution of a run. @param version of its record @param created the result of `newSandbox` */
  async open(id: string, version: number, { created, signal }: OpenOptions): Promise<RunWorkspace> {
    return this.#queue.run(id, async () => {
      const entry = this.#createdEntry(id, created) ?? (await this.#entry(id));
      const sandbox = entry.created ?? (await this.#options.sandboxes.create(id));
      const mayDiffer = entry.isTrusted;
      if (mayDiffer) await entry.copy.pull();
      else if (entry.created === undefined) await this.#restore(entry, version, signal);
      entry.created = undefined;
      entry.isTrusted = true;
      entry.users += 1;
      this.#ended.delete(id);
      return new SharedRun(this.#engine, {
        ...{ copy: entry.copy, sandbox, node: this.#options.node, mayDiffer },
        inTurn: (work) => this.#queue.run(id, work),
        onClose: (isOver) => {
          entry.users -= 1;
          entry.lastUsedAt = this.#engine.clock.now();
          if (isOver) this.#noteEnd(id);
        },
      });
    });
  }

  /** Forgets the copies of earlier runs, of which there can be any number until their folders are removed. */
  #noteEnd(id: string): void {
    this.#ended.add(id);
    for (const oldest of this.#ended) {
      if (this.#ended.size <= (this.#options.maxEnded ?? defaultMaxEnded)) return;
      this.#ended.delete(oldest);
      if (this.#entries.get(oldest)?.users === 0) this.#entries.delete(oldest);
    }
  }

  /** The sandbox of a copy that this node holds, with all uploads; undefined if it is no longer trusted. */
  async current(id: string, version: number): Promise<Sandbox | undefined> {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    // Otherwise the folders could be removed while they are being read.
    entry.lastUsedAt = this.#engine.clock.now();
    if (entry.isTrusted && entry.copy.version < version)
      await this.#queue.run(id, async () => void (entry.isTrusted && (await entry.copy.pull())));
    return entry.isTrusted ? entry.copy.sandbox : undefined;
  }

  /** The sandbox of a copy that is equal to the record, although another node holds it. */
  async restored(id: string, version: number, signal: AbortSignal): Promise<Sandbox> {
    return this.#queue.run(id, async () => {
      const entry = await this.#entry(id);
      // Programs of a run may be working in it by now. Otherwise, the other node has changed what this one trusts.
      if (entry.users === 0) await this.#restore(entry, version, signal);
      entry.lastUsedAt = this.#engine.clock.now();
      return entry.copy.sandbox;
    });
  }

  /** Updates those of the copies that runs are using. @param ids of sandboxes; if it is empty, any may have changed */
  async pullUsed(ids: readonly unknown[]): Promise<void> {
    for (const [id, entry] of this.#entries)
      if (entry.users > 0 && entry.isTrusted && (ids.length === 0 || ids.includes(id)))
        await this.#queue.run(id, async () => void (entry.isTrusted && (await entry.copy.pull())));
  }

  async #entry(id: string): Promise<Entry> {
    const sandbox = await this.#options.sandboxes.create(id);
    const entry = this.#entries.get(id) ?? this.#add(id, sandbox);
    entry.created = undefined;
    return entry;
  }

  /** The entry of folders that a run creates, if nobody else has opened them. */
  #createdEntry(id: string, created: Sandbox | undefined): Entry | undefined {
    const entry = this.#entries.get(id);
    return created !== undefined && entry?.created === created ? entry : undefined;
  }

  #add(id: string, sandbox: Sandbox): Entry {
    const entry: Entry = { copy: new LocalCopy(this.#engine, sandbox), isTrusted: false, users: 0, lastUsedAt: this.#engine.clock.now() };
    this.#entries.set(id, entry);
    return entry;
  }

  async #restore({ copy }: Entry, version: number, signal: AbortSignal): Promise<void> {
    const { signal: closing } = this.#closing;
    await copy.restore(version, AbortSignal.any([signal, closing]));
  }

  startSweeping(): void {
    this.#sweeping = this.#sweepAgainAndAgain();
  }

  async #sweepAgainAndAgain(): Promise<void> {
    const { clock, log } = this.#engine;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.sweep();
        await this.#options.sweep();
      } catch (error) {
        if (!signal.aborted) log('warn', 'the folders of sandboxes could not be cleaned up', errorFields(error));
      }
      await clock.sleep(sweepInterval, signal).catch(() => undefined);
    }
  }

  /** Removes the folders of sandboxes that no longer exist, and of those that were not used for a day. */
  async sweep(): Promise<void> {
    const { store, clock } = this.#engine;
    const { sandboxes } = this.#options;
    const ids = await sandboxes.ids();
    const existing = await existingSandboxes(store, ids);
    for (const id of ids)
      await this.#queue.run(id, async () => {
        const entry = this.#entries.get(id);
        if (this.#closing.signal.aborted || (entry?.users ?? 0) > 0) return;
        const isIdle = clock.now() - (entry?.lastUsedAt ?? this.#startedAt) > idleTime;
        if (existing.has(id) && !isIdle) return;
        this.#entries.delete(id);
        this.#ended.delete(id);
        await (await sandboxes.putAside(id)).remove();
      });
  }

  /** Stops what is in progress. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sweeping;
  }
}
