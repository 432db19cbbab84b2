/**
 * What belongs in a backup, according to the copy of the database. The database may be of an older version, so only columns that
 * have existed since the first version are read.
 */
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import Libsql from 'libsql';
import { version } from '../../base/version.ts';
import type { Database } from '../store/database/schema.ts';
import { appliedMigrations } from '../store/database/sqlite/migrate.ts';
import { openForReading } from '../store/database/sqlite/reader/open.ts';
import { terminalStatuses } from '../store/runs/runs.ts';
import { type BackupInfo, formatVersion } from './format.ts';
import { damagedBackup } from './problems.ts';

/** Rows per query. */
const pageSize = 1_000;

export interface RunFile {
  id: string;
  runId: string;
  sha256: string;
}

/**
 * The copied database, read in a separate thread: checking one of several gigabytes takes longer than a service holds its data
 * still for a process that does not respond. Close it before you read the file.
 */
export class Contents {
  readonly #store: Kysely<Database>;

  private constructor(store: Kysely<Database>) {
    this.#store = store;
  }

  /** Opens a copy that no other process uses, and checks its integrity. @throws AopsError `backup_damaged` */
  static async open(file: string): Promise<Contents> {
    const database = new Libsql(file);
    // With this mode one file contains everything.
    database.pragma('journal_mode=DELETE');
    database.close();
    const store = openForReading(file);
    try {
      const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(store);
      if (rows[0]?.quick_check !== 'ok') throw damagedBackup(`the database is damaged (${rows[0]?.quick_check})`);
      return new Contents(store);
    } catch (error) {
      await store.destroy();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#store.destroy();
  }

  async info(createdAt: string): Promise<BackupInfo> {
    return {
      format: formatVersion,
      version,
      schema: (await appliedMigrations(this.#store)).at(-1) ?? '',
      created_at: createdAt,
      agents: await countRows(this.#store.selectFrom('agents').where('deleted_at', 'is', null)),
      runs: await countRows(this.#store.selectFrom('runs')),
      open_runs: await countRows(this.#store.selectFrom('runs').where('status', 'not in', terminalStatuses)),
    };
  }

  /** The sandboxes of runs that had not ended. */
  async openSandboxes(): Promise<string[]> {
    const rows = await this.#store
      .selectFrom('runs')
      .select('sandbox_id')
      .where('status', 'not in', terminalStatuses)
      .distinct()
      .orderBy('sandbox_id')
      .execute();
    return rows.map(({ sandbox_id }) => sandbox_id);
  }

  async *sandboxes(): AsyncGenerator<string> {
    for (let last = ''; ; ) {
      const rows = await this.#store
        .selectFrom('sandboxes')
        .select('id')
        .where('id', '>', last)
        .where('removed_at', 'is', null)
        .orderBy('id')
        .limit(pageSize)
        .execute();
      for (const { id } of rows) yield id;
      if (rows.length < pageSize) return;
      last = (rows.at(-1) as { id: string }).id;
    }
  }

  async *runFiles(): AsyncGenerator<RunFile> {
    for (let last = ''; ; ) {
      const rows = await this.#store
        .selectFrom('run_files')
        .select(['id', 'run_id as runId', 'sha256'])
        .where('id', '>', last)
        .orderBy('id')
        .limit(pageSize)
        .execute();
      yield* rows;
      if (rows.length < pageSize) return;
      last = (rows.at(-1) as RunFile).id;
    }
  }
}

async function countRows<Table extends keyof Database>(query: SelectQueryBuilder<Database, Table, object>): Promise<number> {
  const { count } = await query.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
  return Number(count);
}
