/** The sandbox of a run that this node executes: each recorded step also records what has changed in its folders. */
import { errorFields } from '../../log.ts';
import type { FolderChanges } from '../../sandbox/record/capture.ts';
import { keepingUploads } from '../../sandbox/record/uploads.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { Queries } from '../../store/database/database.ts';
import { raiseVersion, recordedEntries, workspaceState } from '../../store/runs/workspace-files.ts';
import { discardFiles } from '../files/stored-files.ts';
import type { RecordFiles, RunWorkspace } from '../run-workspaces.ts';
import type { LocalCopy } from './local-copy.ts';
import { type BytesEngine, putBytes, recordChanges } from './stored-bytes.ts';
import { WorkspaceLostError } from './workspace-lost.ts';

export interface SharedRunParts {
  copy: LocalCopy;
  sandbox: Sandbox;
  /** Names this process. */
  node: string;
  /** Does work while nothing else compares the copy with its record. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Whether an earlier execution may have left changes behind that it did not record. */
  mayDiffer: boolean;
  onClose(isOver: boolean): void;
}

export class SharedRun implements RunWorkspace {
  readonly sandbox: Sandbox;
  readonly #engine: BytesEngine;
  readonly #parts: SharedRunParts;
  /** How many changes of the sandbox are recorded; there can be others in the folders if it is negative. */
  #recordedCount: number;
  /** Paths that were reported as not recordable. */
  readonly #reported = new Set<string>();

  constructor(engine: BytesEngine, parts: SharedRunParts) {
    this.#engine = engine;
    this.#parts = parts;
    this.sandbox = parts.sandbox;
    this.#recordedCount = parts.mayDiffer ? -1 : 0;
  }

  async commit<Result>(write: (record: RecordFiles) => Promise<Result>): Promise<Result> {
    const { changeCount } = this.sandbox;
    if (changeCount === this.#recordedCount && changeCount !== Number.POSITIVE_INFINITY) return this.#withoutChanges(write);
    return this.#parts.inTurn(async () => {
      const changes = await this.#capture();
      const result = await (changes === undefined ? this.#withoutChanges(write, true) : this.#withChanges(changes, write));
      this.#recordedCount = changeCount;
      return result;
    });
  }

  async #withoutChanges<Result>(write: (record: RecordFiles) => Promise<Result>, isInTurn = false): Promise<Result> {
    const { copy, inTurn } = this.#parts;
    let version = copy.version;
    const result = await write(async (trx, run) => {
      version = run?.sandbox_version ?? (await workspaceState(trx, copy.sandbox.id))?.version ?? version;
    });
    if (version !== copy.version) await (isInTurn ? copy.pull() : inTurn(() => copy.pull()));
    return result;
  }

  async #withChanges<Result>(changes: FolderChanges, write: (record: RecordFiles) => Promise<Result>): Promise<Result> {
    const { copy } = this.#parts;
    let version: number | undefined;
    try {
      const result = await write(async (trx) => {
        version = await this.#record(trx, changes);
      });
      if (version === undefined) return result;
      copy.note(version, changes);
      if (version !== copy.version) await copy.pull();
      return result;
    } catch (error) {
      await discardFiles(this.#engine, changes.keys);
      throw error;
    }
  }

  async salvage(): Promise<void> {
    const { store, log } = this.#engine;
    const { id } = this.sandbox;
    await this.#parts
      .inTurn(async () => {
        // Usually another node has taken over the run if its job was lost. If it was stopped there, nobody has.
        if ((await workspaceState(store, id))?.holder !== this.#parts.node) return;
        const changes = await this.#capture();
        if (changes === undefined) return;
        await this.#withChanges(changes, (record) => store.transaction().execute(record));
      })
      .catch((error: unknown) => {
        if (!(error instanceof WorkspaceLostError))
          log('warn', 'the files of an interrupted step are not available on other nodes', { sandbox: id, ...errorFields(error) });
      });
  }

  close(isOver = false): void {
    this.#parts.onClose(isOver);
  }

  /** Stores the bytes that have changed. Undefined if nothing has changed. */
  async #capture(): Promise<FolderChanges | undefined> {
    const { copy } = this.#parts;
    const { id } = this.sandbox;
    const changes = await copy.sandbox.capture(copy.known, putBytes(this.#engine, id));
    const unreported = changes.unreadable.filter((name) => !this.#reported.has(name));
    for (const name of unreported) this.#reported.add(name);
    if (unreported.length > 0)
      this.#engine.log('warn', 'files of a run cannot be read, and are not available on other nodes', {
        ...{ sandbox: id, count: unreported.length, first: unreported[0] ?? null },
      });
    return changes.entries.length === 0 && changes.removed.length === 0 ? undefined : changes;
  }

  async #record(trx: Queries, changes: FolderChanges): Promise<number> {
    const { copy, node } = this.#parts;
    const { id } = this.sandbox;
    const version = await raiseVersion(trx, id, node);
    if (version === undefined) throw new WorkspaceLostError();
    const isCurrent = version === copy.version + 1;
    const { entries, removed, keys } = isCurrent
      ? changes
      : keepingUploads(changes, copy.known, await recordedEntries(trx, id, copy.version));
    await recordChanges(this.#engine, trx, id, { version, entries: entries.map(({ entry }) => entry), removed, keys });
    return version;
  }
}
