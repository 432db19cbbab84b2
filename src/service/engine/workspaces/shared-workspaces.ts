/**
 * The files of sandboxes where there are several nodes: in the folders of the node that executes their run, and in the record, which all
 * nodes read.
 */

import type { ByteRange } from '../../../base/byte-range.ts';
import { notFound } from '../../errors.ts';
import { errorFields } from '../../log.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { SandboxFiles } from '../../sandbox/sandbox-files.ts';
import type { SandboxStore } from '../../sandbox/sandbox-store.ts';
import type { ComingBytes } from '../../sandbox/write.ts';
import type { NewFile } from '../../sandbox/write-files.ts';
import type { Queries, Store } from '../../store/database/database.ts';
import { jobKinds } from '../../store/jobs/kinds.ts';
import {
  type ClaimedWorkspace,
  entriesAt,
  forgetRecords,
  holdWorkspace,
  type WorkspaceState,
  type WorkspaceUse,
  workspaceState,
} from '../../store/runs/workspace-files.ts';
import { dropFiles } from '../files/stored-files.ts';
import type { PrivateFile, RunWorkspace, Workspaces } from '../run-workspaces.ts';
import { LocalCopies } from './local-copies.ts';
import { publishFile } from './publish.ts';
import { openFile, RecordedFiles } from './recorded-files.ts';
import { type BytesEngine, openBytes } from './stored-bytes.ts';
import { uploadFile, uploadFiles } from './upload.ts';

export class SharedWorkspaces implements Workspaces {
  readonly #engine: BytesEngine;
  readonly #node: string;
  readonly #copies: LocalCopies;

  /** @param node names this process @param sweep removes what else is left over on this node, from time to time */
  constructor(engine: BytesEngine, { sandboxes, node, sweep }: { sandboxes: SandboxStore; node: string; sweep: () => Promise<void> }) {
    this.#engine = engine;
    this.#node = node;
    this.#copies = new LocalCopies(engine, { sandboxes, node, sweep });
  }

  async claim(trx: Queries, sandboxId: string, jobId: string, use?: WorkspaceUse): Promise<ClaimedWorkspace | undefined> {
    const claimed = await holdWorkspace(trx, sandboxId, { jobId, node: this.#node, jobKind: jobKinds.run }, use);
    // Also if the transaction is repeated or fails: the files are only compared with the record once more.
    if (claimed?.wasElsewhere) this.#copies.distrust(sandboxId);
    return claimed;
  }

  newSandbox(sandboxId: string, { version }: ClaimedWorkspace): Sandbox | undefined {
    return version === 0 ? this.#copies.newSandbox(sandboxId) : undefined;
  }

  open(
    sandboxId: string,
    claimed: ClaimedWorkspace,
    options: { created: Sandbox | undefined; signal: AbortSignal },
  ): Promise<RunWorkspace> {
    return this.#copies.open(sandboxId, claimed.version, options);
  }

  async files(sandboxId: string): Promise<SandboxFiles | undefined> {
    const state = await this.#state(sandboxId);
    if (state === undefined) return undefined;
    return (await this.#heldCopy(sandboxId, state)) ?? new RecordedFiles(sandboxId, this.#engine.store, openBytes(this.#engine));
  }

  /** The files of a sandbox that this node holds, which can be newer than the record; undefined if it does not. */
  async #heldCopy(sandboxId: string, { holder, version }: WorkspaceState): Promise<Sandbox | undefined> {
    return holder === this.#node ? this.#copies.current(sandboxId, version) : undefined;
  }

  /** Undefined if the sandbox was removed. */
  async #state(sandboxId: string): Promise<WorkspaceState | undefined> {
    const state = await workspaceState(this.#engine.store, sandboxId);
    return state?.removed_at === null ? state : undefined;
  }

  async exists(sandboxId: string): Promise<boolean> {
    return (await this.#state(sandboxId)) !== undefined;
  }

  async inspect(sandboxId: string, signal: AbortSignal): Promise<Sandbox | undefined> {
    const state = await this.#state(sandboxId);
    if (state === undefined) return undefined;
    return (await this.#heldCopy(sandboxId, state)) ?? this.#copies.restored(sandboxId, state.version, signal);
  }

  write(
    store: Store,
    sandboxId: string,
    input: string,
    data: ComingBytes,
    options: { limit?: number } = {},
  ): Promise<{ path: string; size: number }> {
    return uploadFile(this.#engine, store, sandboxId, { path: input, content: data }, options.limit);
  }

  writeAll(store: Store, sandboxId: string, files: AsyncIterable<NewFile>): Promise<void> {
    return uploadFiles(this.#engine, store, sandboxId, files);
  }

  publish(sandbox: Sandbox, name: string): Promise<void> {
    return publishFile(this.#engine, sandbox, name);
  }

  async privateFile(sandboxId: string, name: string): Promise<PrivateFile | undefined> {
    const entry = (await entriesAt(this.#engine.store, sandboxId, [name])).get(name);
    if (entry?.type !== 'file') return undefined;
    return {
      size: entry.size,
      open: async (range: ByteRange | undefined) => {
        const stream = await openFile(entry, openBytes(this.#engine), range);
        if (stream === undefined) throw notFound('file', name);
        return stream;
      },
    };
  }

  async forget(trx: Queries, sandboxIds: readonly string[]): Promise<string[]> {
    const keys = await forgetRecords(trx, sandboxIds);
    await dropFiles(trx, keys, this.#engine.clock.now());
    return keys;
  }

  start(): void {
    const { store, log } = this.#engine;
    // A hint, which lets a program that is working see uploads sooner: each step looks for them, too.
    store.changes.onRemoteChange((table, ids) => {
      if (table !== 'workspace_files') return;
      this.#copies.pullUsed(ids).catch((error: unknown) => log('warn', 'uploaded files are not available yet', errorFields(error)));
    });
    this.#copies.startSweeping();
  }

  async close(): Promise<void> {
    await this.#copies.close();
  }
}
