/**
 * What belongs in a backup, according to the copy of the database. The database may be of an older version, so only columns that
 * have existed since the first version are read.
 */
import type { Kysely, SelectQueryBuilder } from 'kysely';
import { version } from '../../base/version.ts';
import { type OpenedCopy, openDatabaseCopy } from '../store/data-directory.ts';
import type { Database } from '../store/database/schema.ts';
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

/** The copied database. Close it before you read the file. */
export class Contents {
  readonly #store: Kysely<Database>;
  readonly #schema: string;

  private constructor({ store, schema }: OpenedCopy) {
    this.#store = store;
    this.#schema = schema;
  }

  /** Opens a copy that no other process uses, and checks its integrity. @throws AopsError `backup_damaged` */
  static async open(file: string): Promise<Contents> {
    const copy = await openDatabaseCopy(file);
    if (copy.damage === undefined) return new Contents(copy);
    await copy.store.destroy();
    throw damagedBackup(`the database is damaged (${copy.damage})`);
  }

  close(): Promise<void> {
    return this.#store.destroy();
  }

  async info(createdAt: string): Promise<BackupInfo> {
    return {
      format: formatVersion,
      version,
      schema: this.#schema,
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
