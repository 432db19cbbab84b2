/**
 * What belongs into a backup, as the copy of the database tells it. It may be of an older version: of its tables only columns are
 * read that they have had from the first one on.
 */
import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import Libsql from 'libsql';
import { version } from '../../base/version.ts';
import { appliedMigrations } from '../store/database/migrate.ts';
import { openForReading } from '../store/database/reader/open.ts';
import type { Database } from '../store/database/schema.ts';
import { terminalStatuses } from '../store/runs/runs.ts';
import { type BackupInfo, formatVersion } from './format.ts';
import { damaged } from './problems.ts';

/** Rows read at a time. */
const portion = 1_000;

export interface RunFile {
  id: string;
  runId: string;
  sha256: string;
}

/**
 * The copied database, read in a thread of its own: to check one of several gigabytes takes longer than a service holds its
 * data still for a process that does not answer. Close it before the file is read.
 */
export class Contents {
  readonly #store: Kysely<Database>;

  private constructor(store: Kysely<Database>) {
    this.#store = store;
  }

  /** Opens a copy that nobody else uses, and makes sure that it is sound. @throws AopsError `backup_damaged` */
  static async open(file: string): Promise<Contents> {
    const database = new Libsql(file);
    // One file holds everything then, and no other is needed beside it.
    database.pragma('journal_mode=DELETE');
    database.close();
    const store = openForReading(file);
    try {
      const { rows } = await sql<{ quick_check: string }>`pragma quick_check(1)`.execute(store);
      if (rows[0]?.quick_check !== 'ok') throw damaged(`the database is not sound (${rows[0]?.quick_check})`);
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
      agents: await counted(this.#store.selectFrom('agents').where('deleted_at', 'is', null)),
      runs: await counted(this.#store.selectFrom('runs')),
      open_runs: await counted(this.#store.selectFrom('runs').where('status', 'not in', terminalStatuses)),
    };
  }

  /** Sandboxes of runs that had not ended, and then all others. */
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
        .limit(portion)
        .execute();
      for (const { id } of rows) yield id;
      if (rows.length < portion) return;
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
        .limit(portion)
        .execute();
      yield* rows;
      if (rows.length < portion) return;
      last = (rows.at(-1) as RunFile).id;
    }
  }
}

async function counted<Table extends keyof Database>(query: SelectQueryBuilder<Database, Table, object>): Promise<number> {
  const { count } = await query.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
  return Number(count);
}
