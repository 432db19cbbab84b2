/**
 * Kysely's drivers for one libsql database, in which transactions that happen at the same moment reach the disk together:
 * each is a savepoint of one transaction of SQLite, which is committed once the event loop has seen what had arrived, and then
 * synced to the disk, while others go on and the next group gathers.
 * Nobody is told of anything before that: neither the one who wrote, whose commit resolves then, nor the one who read it.
 * Only the early driver tells at once; whoever uses it waits for the disk before telling others.
 */
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from 'kysely';
import type { Database as LibsqlDatabase, Statement } from 'libsql';
import type { Changes } from './changes.ts';
import { Lock } from './lock.ts';
import { changedTable, kindOf, Statements } from './statements.ts';

/** What is committed together. */
class Group {
  /** Resolves when all of it is on the disk, rejects when none of it is. */
  readonly durable: Promise<void>;
  settle!: () => void;
  fail!: (error: unknown) => void;
  /** Whether there is something in it that is not on the disk yet. */
  dirty = false;
  failure: unknown;

  constructor() {
    this.durable = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
    // A group may fail that nobody waits for.
    this.durable.catch(() => undefined);
  }
}

/** When what was written is on the disk, for who uses the early driver. */
export interface Durability {
  /** Begins to watch; what fails to reach the disk from now on is known by it. */
  mark(): number;
  /** Whether something has failed to reach the disk since. */
  hasFailed(mark: number): boolean;
  /** Resolves when everything that has been written is on the disk; rejects when something was lost since the mark. */
  settled(mark: number): Promise<void>;
  /** What is to be written, as part of it, with everything that is committed. It may run changes alone, and ends at once. */
  beforeCommit(write: (run: RunQuery) => void): void;
  /** Has what is to be written before a commit committed soon, also when nothing else is. Throws when nothing is written any more. */
  commitSoon(): void;
}

/** Runs a change as part of what is being committed. Throws what SQLite has against it. */
export type RunQuery = (query: CompiledQuery) => void;

/** How often a query reads again. */
const rereads = 3;

export class GroupCommit implements Durability {
  readonly #changes: Changes;
  readonly #database: LibsqlDatabase;
  readonly #sync: () => Promise<void>;
  readonly #close: () => Promise<void>;
  readonly #statements: Statements;
  readonly #control: Record<'begin' | 'commit', Statement>;
  /** SQLite has one connection: one transaction or query at a time. */
  readonly #lock = new Lock();
  #group: Group | undefined;
  /** What was committed last, as long as it is on its way to the disk. */
  #syncing: Group | undefined;
  /** Why the disk did not keep what was committed. What is there then is not known, so nothing is read or written any more. */
  #broken: Error | undefined;
  /** Groups that have failed, and why the last one did. */
  #failed = 0;
  #failure: unknown;
  readonly #beforeCommit: ((run: RunQuery) => void)[] = [];

  /** @param parts where changes are counted, what syncs all that was committed to the disk, and what closes the database */
  constructor(
    database: LibsqlDatabase,
    { changes, sync, close }: { changes: Changes; sync: () => Promise<void>; close: () => Promise<void> },
  ) {
    this.#database = database;
    this.#changes = changes;
    this.#sync = sync;
    this.#close = close;
    this.#statements = new Statements(database);
    this.#control = {
      begin: database.prepare('begin immediate'),
      commit: database.prepare('commit'),
    };
  }

  /** @param waits whether it tells of what it wrote and read when that is on the disk; otherwise at once */
  driver({ waits }: { waits: boolean }): Driver {
    return {
      init: async () => undefined,
      acquireConnection: async () => new Connection(waits, (query) => this.#alone(query, waits)),
      releaseConnection: async () => undefined,
      beginTransaction: (connection) => this.#begin(connection as Connection),
      commitTransaction: (connection) => this.#end(connection as Connection),
      rollbackTransaction: (connection) => this.#rollBack(connection as Connection),
      destroy: async () => {
        if (waits) await this.#destroy();
      },
    };
  }

  mark(): number {
    return this.#failed;
  }

  hasFailed(mark: number): boolean {
    return this.#failed > mark;
  }

  async settled(mark: number): Promise<void> {
    if (this.hasFailed(mark)) throw this.#failure;
    await this.#undurable(this.#group)?.durable;
  }

  beforeCommit(write: (run: RunQuery) => void): void {
    this.#beforeCommit.push(write);
  }

  commitSoon(): void {
    this.#join().dirty = true;
  }

  /** The group that is to be on the disk before anybody is told of what a group shows, which includes all before it. */
  #undurable(group: Group | undefined): Group | undefined {
    return group?.dirty ? group : this.#syncing;
  }

  async #begin(connection: Connection): Promise<void> {
    const wait = this.#lock.acquire();
    if (wait !== undefined) await wait;
    try {
      const group = this.#join();
      this.#database.exec('savepoint one');
      connection.transaction = { group, wrote: false, run: (query) => this.#inGroup(group, query) };
    } catch (error) {
      this.#lock.release();
      throw error;
    }
  }

  async #end(connection: Connection): Promise<void> {
    const { group, wrote } = connection.end();
    try {
      if (group.failure !== undefined) throw group.failure;
      this.#database.exec('release one');
      group.dirty ||= wrote;
    } finally {
      this.#lock.release();
    }
    if (connection.waits) await this.#undurable(group)?.durable;
  }

  async #rollBack(connection: Connection): Promise<void> {
    // A commit that failed has left nothing to take back.
    if (connection.transaction === undefined) return;
    const { group } = connection.end();
    try {
      if (group.failure === undefined) this.#database.exec('rollback to one; release one');
    } finally {
      this.#lock.release();
    }
    // What made it fail may have been read from the others.
    if (connection.waits) await this.#undurable(group)?.durable.catch(() => undefined);
  }

  async #destroy(): Promise<void> {
    await this.#lock.acquire();
    this.#commit();
    await this.#syncing?.durable.catch(() => undefined);
    await this.#close();
  }

  /** A query that is no part of a transaction. One that has read what then failed to reach the disk reads again. */
  async #alone(query: CompiledQuery, waits: boolean): Promise<QueryResult<never>> {
    for (let again = 0; ; again++) {
      const { result, undurable } = await this.#runAlone(query);
      try {
        if (waits) await undurable?.durable;
        return result;
      } catch (error) {
        if (kindOf(query.query) !== 'read' || again >= rereads) throw error;
      }
    }
  }

  async #runAlone(query: CompiledQuery): Promise<{ result: QueryResult<never>; undurable: Group | undefined }> {
    const wait = this.#lock.acquire();
    if (wait !== undefined) await wait;
    let undurable: Group | undefined;
    let result: QueryResult<never>;
    try {
      if (this.#broken !== undefined) throw this.#broken;
      const kind = kindOf(query.query);
      if (kind === 'other') result = this.#byHand(query);
      else {
        const group = kind === 'write' ? this.#join() : this.#group;
        result = group === undefined ? this.#statements.run(query) : this.#inGroup(group, query);
        if (group !== undefined && kind === 'write') group.dirty = true;
      }
      undurable = this.#undurable(this.#group);
    } finally {
      this.#lock.release();
    }
    return { result, undurable };
  }

  /** SQL written by hand may be what SQLite does outside of transactions alone, and may change anything. */
  #byHand(query: CompiledQuery): QueryResult<never> {
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
      // A full disk and the like make SQLite give up the whole transaction; what follows must not be taken for one of its own.
      if (!this.#database.inTransaction) this.#abandon(group, error);
      throw error;
    }
  }

  /** The open group. A new one is committed after everything that has arrived by now has been looked at. */
  #join(): Group {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#group !== undefined) return this.#group;
    this.#control.begin.run([]);
    const group = new Group();
    this.#group = group;
    setImmediate(() => void this.#commitLater(group));
    return group;
  }

  async #commitLater(group: Group): Promise<void> {
    // The disk takes one at a time; meanwhile more may join.
    await this.#syncing?.durable.catch(() => undefined);
    await this.#lock.acquire();
    if (this.#group === group) this.#commit();
    this.#lock.release();
  }

  /** Commits the open group, if there is one. Whoever calls it holds the lock. Never throws: those who wait are told. */
  #commit(): void {
    const group = this.#group;
    if (group === undefined) return;
    try {
      for (const write of this.#beforeCommit) write((query) => this.#inGroup(group, query));
      this.#control.commit.run([]);
      this.#group = undefined;
      if (group.dirty) void this.#flush(group);
      else group.settle();
    } catch (error) {
      if (group.failure === undefined) this.#abandon(group, error);
    }
  }

  /** Sees a group that was committed to the disk. Never throws. */
  async #flush(group: Group): Promise<void> {
    const before = this.#syncing;
    this.#syncing = group;
    try {
      await before?.durable;
      await this.#sync();
    } catch (error) {
      this.#breakDown(group, error);
      return;
    }
    if (this.#syncing === group) this.#syncing = undefined;
    group.settle();
  }

  #abandon(group: Group, error: unknown): void {
    if (this.#database.inTransaction) this.#database.exec('rollback');
    this.#group = undefined;
    this.#fail(group, error);
  }

  /** What was committed may be lost with the next failure of power, and can be taken back no more. */
  #breakDown(group: Group, error: unknown): void {
    // Not the code of its cause: after a disk that was full, nothing would have been written.
    this.#broken ??= Object.assign(
      new Error('The disk did not keep what was written; restart the service when it works again.', { cause: error }),
      {
        code: 'EIO',
      },
    );
    this.#fail(group, this.#broken);
    if (this.#group !== undefined) this.#abandon(this.#group, this.#broken);
  }

  #fail(group: Group, error: unknown): void {
    // Somebody may have read what has not come to pass.
    this.#changes.count(undefined);
    group.failure = error;
    this.#failed += 1;
    this.#failure = error;
    group.fail(error);
  }
}

interface OpenTransaction {
  readonly group: Group;
  wrote: boolean;
  run(query: CompiledQuery): QueryResult<never>;
}

class Connection implements DatabaseConnection {
  readonly waits: boolean;
  readonly #alone: (query: CompiledQuery) => Promise<QueryResult<never>>;
  transaction: OpenTransaction | undefined;

  constructor(waits: boolean, alone: (query: CompiledQuery) => Promise<QueryResult<never>>) {
    this.waits = waits;
    this.#alone = alone;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { transaction } = this;
    if (transaction === undefined) return this.#alone(query);
    if (kindOf(query.query) !== 'read') transaction.wrote = true;
    return transaction.run(query);
  }

  // biome-ignore lint/correctness/useYield: nothing here is ever streamed
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('Queries are not streamed; page through them.');
  }

  end(): OpenTransaction {
    const { transaction } = this;
    if (transaction === undefined) throw new Error('There is no transaction.');
    this.transaction = undefined;
    return transaction;
  }
}
