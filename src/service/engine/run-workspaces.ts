/**
 * The files of sandboxes, which are folders of this machine. Where there are several nodes, a sandbox is in the folders of the node that
 * executes its run, its holder; each recorded step also records what it has changed, so that any other node can show the files, and can
 * continue with them.
 */
import type { Readable } from 'node:stream';
import type { ByteRange } from '../../base/byte-range.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { SandboxFiles } from '../sandbox/sandbox-files.ts';
import type { ComingBytes } from '../sandbox/write.ts';
import type { NewFile } from '../sandbox/write-files.ts';
import type { Queries, Store } from '../store/database/database.ts';
import type { HeldRun } from '../store/runs/held-runs.ts';
import type { ClaimedWorkspace, WorkspaceUse } from '../store/runs/workspace-files.ts';

/**
 * Records what has changed, in the transaction of a step. May be called again if the transaction is repeated.
 * @param run the run of the step, as the transaction has found it
 */
export type RecordFiles = (trx: Queries, run?: Pick<HeldRun, 'sandbox_version'>) => Promise<void>;

/** The sandbox of a run that is executed here. */
export interface RunWorkspace {
  readonly sandbox: Sandbox;
  /**
   * Stores what has changed in the sandbox, and calls `write`, whose transaction has to call `record`. Afterwards, the sandbox contains
   * what others have uploaded.
   */
  commit<Result>(write: (record: RecordFiles) => Promise<Result>): Promise<Result>;
  /** Records the files of a step that was interrupted, unless another node has taken over the run. It never fails: they are not promised. */
  salvage(): Promise<void>;
  /** Call it when no program of the run works in the sandbox any more. @param isOver whether the run has ended */
  close(isOver?: boolean): void;
}

/** A file next to the workspace that callers do not see. */
export interface PrivateFile {
  /** Bytes. */
  size: number;
  open(range: ByteRange | undefined): Promise<Readable>;
}

export interface Workspaces {
  /**
   * Makes this node the holder, in the transaction that claims a job. Undefined if the run has to wait for another node.
   * @param use how the sandbox is used, if the transaction has read that with the job
   */
  claim(trx: Queries, sandboxId: string, jobId: string, use?: WorkspaceUse): Promise<ClaimedWorkspace | undefined>;
  /** The sandbox of a claimed run, if it has no files yet and nothing is in the way. Its folders are created when something needs them. */
  newSandbox(sandboxId: string, claimed: ClaimedWorkspace): Sandbox | undefined;
  /** The sandbox of a claimed run, with all files that were recorded. @param created the result of `newSandbox` */
  open(sandboxId: string, claimed: ClaimedWorkspace, options: { created: Sandbox | undefined; signal: AbortSignal }): Promise<RunWorkspace>;
  /** The files of a sandbox for reading. Undefined if it was removed, or is damaged. */
  files(sandboxId: string): Promise<SandboxFiles | undefined>;
  /** Whether anything exists for a sandbox, even if it is not usable. */
  exists(sandboxId: string): Promise<boolean>;
  /** The sandbox on this machine, with the files that were recorded, for a program of the service that does not change them. */
  inspect(sandboxId: string, signal: AbortSignal): Promise<Sandbox | undefined>;
  /**
   * Writes a file, as `Sandbox.write` does. @param store of the request. The sandbox must exist in the database
   * @throws also ServiceError 404 `sandbox_not_found` if it was removed meanwhile
   */
  write(
    store: Store,
    sandboxId: string,
    input: string,
    data: ComingBytes,
    options?: { limit?: number },
  ): Promise<{ path: string; size: number }>;
  /** Writes many files, as `Sandbox.writeAll` does. */
  writeAll(store: Store, sandboxId: string, files: AsyncIterable<NewFile>): Promise<void>;
  /** Makes a file in a private folder available to all nodes. @param name `folder/file`, which is never changed */
  publish(sandbox: Sandbox, name: string): Promise<void>;
  /** Such a file; undefined if it does not exist. */
  privateFile(sandboxId: string, name: string): Promise<PrivateFile | undefined>;
  /**
   * Removes what is recorded about the files of sandboxes, in the transaction that removes these or their files. Returns the keys of
   * stored files, which can be discarded afterwards.
   */
  forget(trx: Queries, sandboxIds: readonly string[]): Promise<string[]>;
  /** Whatever this has to do in the background. */
  start?(): void;
  close?(): Promise<void>;
}
