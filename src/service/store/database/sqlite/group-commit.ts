/**
 * Transactions of one libsql database that happen at the same moment reach the disk together. What this file guarantees
 * (docs/architecture.md, "Durability", has the whole picture):
 *
 * - Each transaction is a savepoint of one SQLite transaction, the group. A group is committed once the event loop has handled
 *   everything that had arrived, and is then synced while the next group gathers. The disk takes one group at a time.
 * - No caller learns of a change, whether it made the change or only read it, before that change is synced.
 * - When a group cannot be committed, every transaction in it rejects and nothing of it remains. Reads that saw it are repeated.
 * - When a sync fails, nobody knows what the disk holds: everything rejects until the service is restarted.
 */
import type { CompiledQuery, QueryResult } from 'kysely';
import type { Database as LibsqlDatabase, Statement } from 'libsql';
import type { Changes } from '../changes.ts';
import { changedTable, kindOf } from '../execution/kinds.ts';
import { Lock } from '../execution/lock.ts';
import { Statements } from './statements.ts';

/** The transactions that are committed together. */
class Group {
  /** Resolves when all of it is on the disk, rejects when none of it is. */
  readonly durable: Promise<void>;
  settle!: () => void;
  fail!: (error: unknown) => void;
  /** Whether it contains a change that is not on the disk yet. */
  dirty = false;
  failure: unknown;

  constructor() {
    this.durable = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
    // A group can fail without anything waiting for it.
    this.durable.catch(() => undefined);
  }
}

/** A transaction in progress: a savepoint of its group. Its owner holds the lock until the transaction ends. */
export interface OpenTransaction {
  readonly group: Group;
  /** The tables that it has changed; undefined for SQL written by hand. */
  readonly changedTables: Set<string | undefined>;
  /** Whether it has executed a query. */
  hasRun: boolean;
  /** The parts in progress, and whether each has a savepoint. The first part that nothing precedes shares that of the transaction. */
  readonly parts: boolean[];
}

/** How often a read is repeated because what it had seen did not reach the disk. */
const rereads = 3;

const controls = {
  begin: 'begin immediate',
  commit: 'commit',
  // Savepoints of the same name nest: each statement is about the innermost one.
  savepoint: 'savepoint one',
  release: 'release one',
  rollBack: 'rollback to one',
} as const;

export class GroupCommit {
  readonly #changes: Changes;
  readonly #database: LibsqlDatabase;
  readonly #sync: () => Promise<void>;
  readonly #close: () => Promise<void>;
  readonly #statements: Statements;
  readonly #control: Record<keyof typeof controls, Statement>;
  /** SQLite has one connection: one transaction or query at a time. */
  readonly #lock = new Lock();
  /** The group that can be joined. */
  #group: Group | undefined;
  /** The group that was committed last, until it is on the disk. */
  #syncingGroup: Group | undefined;
  #end: Promise<void> | undefined;
  /** Why a sync failed, or that the database was closed. Nothing is read or written from then on. */
  #unusable: Error | undefined;

  /** @param parts where changes are counted, what syncs everything that was committed to the disk, and what closes the database */
  constructor(
    database: LibsqlDatabase,
    { changes, sync, close }: { changes: Changes; sync: () => Promise<void>; close: () => Promise<void> },
  ) {
    this.#database = database;
    this.#changes = changes;
    this.#sync = sync;
    this.#close = close;
    this.#statements = new Statements(database);
    const statements = Object.entries(controls).map(([name, text]) => [name, database.prepare(text)]);
    this.#control = Object.fromEntries(statements) as Record<keyof typeof controls, Statement>;
  }

  /** Begins a transaction, and holds the lock until `end` or `rollBack`. */
  async begin(): Promise<OpenTransaction> {
    const wait = this.#lock.acquire();
    if (wait !== undefined) await wait;
    try {
      const group = this.#join();
      this.#control.savepoint.run([]);
      return { group, changedTables: new Set(), hasRun: false, parts: [] };
    } catch (error) {
      this.#lock.release();
      throw error;
    }
  }

  /** Runs a query as part of a transaction. */
  run(transaction: OpenTransaction, query: CompiledQuery): QueryResult<never> {
    transaction.hasRun = true;
    if (kindOf(query.query) !== 'read') transaction.changedTables.add(changedTable(query.query));
    return this.#inGroup(transaction.group, query);
  }

  /** Ends a transaction. Resolves when it and everything that it has read are on the disk, and rejects when they are not. */
  async end({ group, changedTables }: OpenTransaction): Promise<void> {
    try {
      if (group.failure !== undefined) throw group.failure;
      this.#control.release.run([]);
      group.dirty ||= changedTables.size > 0;
    } finally {
      this.#lock.release();
    }
    await this.#unsyncedGroup(group)?.durable;
  }

  /** Takes a transaction back. Resolves when everything that it has read is on the disk: it may be the reason for taking it back. */
  async rollBack(transaction: OpenTransaction): Promise<void> {
    const { group } = transaction;
    try {
      this.#takeBack(transaction);
    } finally {
      this.#lock.release();
    }
    await this.#unsyncedGroup(group)?.durable.catch(() => undefined);
  }

  /** Begins a part of a transaction that can be taken back alone. The caller ends parts in the reverse order. */
  beginPart({ group, hasRun, parts }: OpenTransaction): void {
    if (group.failure !== undefined) throw group.failure;
    if (hasRun) this.#control.savepoint.run([]);
    parts.push(hasRun);
  }

  endPart({ group, parts }: OpenTransaction): void {
    const hasSavepoint = parts.pop();
    if (group.failure !== undefined) throw group.failure;
    if (hasSavepoint) this.#control.release.run([]);
  }

  rollBackPart(transaction: OpenTransaction): void {
    this.#takeBack(transaction, transaction.parts.pop());
  }

  /** Runs a query that is not part of a transaction. A read that has seen a change which then failed to reach the disk is repeated. */
  async runSingle(query: CompiledQuery): Promise<QueryResult<never>> {
    for (let attempt = 0; ; attempt++) {
      const { result, unsyncedGroup } = await this.#runSingle(query);
      try {
        await unsyncedGroup?.durable;
        return result;
      } catch (error) {
        if (kindOf(query.query) !== 'read' || attempt >= rereads) throw error;
      }
    }
  }

  /** Commits what is open, and closes the database. Queries are rejected from then on. */
  destroy(): Promise<void> {
    this.#end ??= this.#commitAndClose();
    return this.#end;
  }

  async #commitAndClose(): Promise<void> {
    await this.#lock.acquire();
    this.#commit();
    await this.#syncingGroup?.durable.catch(() => undefined);
    this.#unusable ??= new Error('The database was closed.');
    await this.#close();
    this.#lock.release();
  }

  /** The group that has to be on the disk before anybody learns what a group shows. It includes all earlier groups. */
  #unsyncedGroup(group: Group | undefined): Group | undefined {
    return group?.dirty ? group : this.#syncingGroup;
  }

  async #runSingle(query: CompiledQuery): Promise<{ result: QueryResult<never>; unsyncedGroup: Group | undefined }> {
    const wait = this.#lock.acquire();
    if (wait !== undefined) await wait;
    let unsyncedGroup: Group | undefined;
    let result: QueryResult<never>;
    try {
      if (this.#unusable !== undefined) throw this.#unusable;
      const kind = kindOf(query.query);
      if (kind === 'other') result = this.#runHandwritten(query);
      else {
        const group = kind === 'write' ? this.#join() : this.#group;
        result = group === undefined ? this.#statements.run(query) : this.#inGroup(group, query);
        if (group !== undefined && kind === 'write') group.dirty = true;
      }
      unsyncedGroup = this.#unsyncedGroup(this.#group);
    } finally {
      this.#lock.release();
    }
    return { result, unsyncedGroup };
  }

  /** SQL written by hand can be something that SQLite does only outside of transactions, and can change anything. */
  #runHandwritten(query: CompiledQuery): QueryResult<never> {
    this.#commit();
    this.#changes.count(undefined);
    const result = this.#statements.run(query);
    const group = new Group();
    void this.#flush(group);
    return result;
  }

  #inGroup(group: Group, query: CompiledQuery): QueryResult<never> {
    if (group.failure !== undefined) throw group.failure;
    if (kindOf(query.query) !== 'read') this.#changes.count(changedTable(query.query), query.parameters);
    try {
      return this.#statements.run(query);
    } catch (error) {
      // A full disk and the like make SQLite roll back the whole group; what follows must not be taken for a part of it.
      if (!this.#database.inTransaction) this.#abandon(group, error);
      throw error;
    }
  }

  /** @param isOver whether nothing will be executed up to the innermost savepoint any more, so that it can be released */
  #takeBack({ group, changedTables }: OpenTransaction, isOver = true): void {
    // A group that failed has left nothing to take back.
    if (group.failure !== undefined) return;
    // What it has read after its own changes, and cached, is no longer true.
    for (const table of changedTables) this.#changes.count(table);
    this.#control.rollBack.run([]);
    if (isOver) this.#control.release.run([]);
  }

  /** The open group. A new one is committed after everything that has arrived by now has been handled. */
  #join(): Group {
    if (this.#unusable !== undefined) throw this.#unusable;
    if (this.#group !== undefined) return this.#group;
    this.#control.begin.run([]);
    const group = new Group();
    this.#group = group;
    setImmediate(() => void this.#commitLater());
    return group;
  }

  async #commitLater(): Promise<void> {
    // The disk takes one at a time; meanwhile more transactions can join.
    await this.#syncingGroup?.durable.catch(() => undefined);
    await this.#lock.acquire();
    this.#commit();
    this.#lock.release();
  }

  /** Commits the open group, if any. The caller holds the lock. Never throws: those who wait for the group learn of a failure. */
  #commit(): void {
    const group = this.#group;
    if (group === undefined) return;
    try {
      this.#control.commit.run([]);
      this.#group = undefined;
      // Nobody waits for a group without changes.
      if (group.dirty) void this.#flush(group);
    } catch (error) {
      this.#abandon(group, error);
    }
  }

  /** Syncs a group that was committed. Never throws. */
  async #flush(group: Group): Promise<void> {
    const before = this.#syncingGroup;
    this.#syncingGroup = group;
    try {
      await before?.durable;
      await this.#sync();
    } catch (error) {
      this.#breakDown(group, error);
      return;
    }
    if (this.#syncingGroup === group) this.#syncingGroup = undefined;
    group.settle();
  }

  #abandon(group: Group, error: unknown): void {
    if (this.#database.inTransaction) this.#database.exec('rollback');
    this.#group = undefined;
    this.#fail(group, error);
  }

  /** What was committed may be lost with the next power failure, and can no longer be taken back. */
  #breakDown(group: Group, error: unknown): void {
    // Not the code of its cause: after a disk that was full, nothing would have been written.
    this.#unusable ??= Object.assign(
      new Error('The disk did not keep what was written; restart the service when it works again.', { cause: error }),
      { code: 'EIO' },
    );
    this.#fail(group, this.#unusable);
    if (this.#group !== undefined) this.#abandon(this.#group, this.#unusable);
  }

  #fail(group: Group, error: unknown): void {
    // What was read from it and remembered is no longer true.
    this.#changes.count(undefined);
    group.failure = error;
    group.fail(error);
  }
}
