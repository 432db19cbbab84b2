import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Kysely, type Migration, sql } from 'kysely';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../../src/service/store/database/schema.ts';
import { LibsqlDialect } from '../../../../src/service/store/database/sqlite/dialect.ts';
import { migrate, migrations } from '../../../../src/service/store/database/sqlite/migrate.ts';
import { openDatabase } from '../../../../src/service/store/database/sqlite/open.ts';
import { listRunFiles } from '../../../../src/service/store/runs/run-files.ts';
import { claimRunJob } from '../../../../src/service/store/runs/run-queue.ts';
import { listToolExecutions } from '../../../../src/service/store/runs/tool-executions.ts';
import { afterTest, temporaryDirectory } from '../../../support/temporary.ts';
import { heldDisk } from '../../helpers/disk.ts';
import { Gate } from '../../helpers/runtime.ts';

async function openStore() {
  const directory = await temporaryDirectory();
  const db = await openDatabase(directory);
  afterTest(() => db.destroy());
  return { db, directory };
}

/** A database of the first version that accepts rows without those they refer to. */
async function firstVersion() {
  const directory = await temporaryDirectory();
  const db = new Kysely<Database>({ dialect: new LibsqlDialect(new Libsql(join(directory, 'aops.db'))) });
  await migrate(db, directory, { '0001-core': migrations['0001-core'] as Migration });
  await sql`pragma foreign_keys = off`.execute(db);
  return { db, directory };
}

const tables = async (db: Awaited<ReturnType<typeof openDatabase>>) => (await db.introspection.getTables()).map(({ name }) => name);

describe('migrations', () => {
  it('copy an existing file first, and are recorded', async () => {
    const { db, directory } = await openStore();
    const second: Migration = { up: (any) => sql`create table extra (id text)`.execute(any).then(() => undefined) };
    expect(await readdir(directory)).not.toContain('backups');
    await migrate(db, directory, { ...migrations, '9999-extra': second });
    expect(await tables(db)).toContain('extra');
    expect(await readdir(join(directory, 'backups'))).toEqual([`aops-${Object.keys(migrations).sort().at(-1)}.db`]);
    await migrate(db, directory, { ...migrations, '9999-extra': second });
  });

  it('give an earlier screenshot an execution of its own, with the screenshot as the one after it', async () => {
    const { db, directory } = await firstVersion();
    for (const [id, started_at, input] of [
      ['f2', '2026-01-01T00:00:02.000Z', null],
      ['f1', '2026-01-01T00:00:01.000Z', '{"url":"http://a.test/"}'],
    ]) {
      await sql`insert into run_files (id, run_id, turn, event_id, name, mime_type, size, sha256, tool_name, action, input, started_at, created_at)
        values (${id}, 'r', 1, ${`e${id}`}, 'a.png', 'image/png', 3, '', 'screenshot', 'click', ${input}, ${started_at}, '2026-01-01T00:00:09.000Z')`.execute(
        db,
      );
    }
    await migrate(db, directory);
    expect(await listToolExecutions(db, 'r')).toMatchObject([
      {
        ...{ seq: 1, tool_name: 'screenshot', action: 'click', input: '{"url":"http://a.test/"}', error: null, event_id: 'ef1', turn: 1 },
        ...{ started_at: '2026-01-01T00:00:01.000Z', ended_at: '2026-01-01T00:00:09.000Z', before_file_id: null, after_file_id: 'f1' },
      },
      { seq: 2, input: null, after_file_id: 'f2' },
    ]);
    expect(await listRunFiles(db, 'r')).toMatchObject([{ name: 'a.png', size: 3 }, { name: 'a.png' }]);
    await db.destroy();
  });

  it('put the runs that wait to be executed into the lane of their team', async () => {
    const { db, directory } = await firstVersion();
    const timestamp = '2026-01-01T00:00:00.000Z';
    await sql`insert into teams (id, name, created_at) values ('t', 'Local', ${timestamp})`.execute(db);
    for (const number of [2, 1]) {
      await sql`insert into runs (id, team_id, agent_id, build_id, run_number, title, title_folded, status, source, sandbox_id, runtime,
        procedure_hash, turn, submitted_prompt_count, resume_count, created_at, updated_at)
        values (${`r${number}`}, 't', 'a', 'b', ${number}, '', '', 'pending', 'api', 's', 'script', 'h', 1, 0, 0, ${timestamp}, ${timestamp})`.execute(
        db,
      );
      await sql`insert into jobs (id, kind, subject_id, status, due_at) values (${`j${number}`}, 'run', ${`r${number}`}, 'queued', 5)`.execute(
        db,
      );
    }
    await migrate(db, directory);
    const claimant = { owner: 'me', now: 5, lease: 100 };
    const claim = () => db.transaction().execute((trx) => claimRunJob(trx, 'run', claimant));
    expect(await claim()).toMatchObject({ subject_id: 'r1', lane: 't' });
    expect((await claim())?.subject_id).toBe('r2');
    expect(await claim()).toBeUndefined();
    await db.destroy();
  });

  it('that fail half-way leave nothing behind', async () => {
    const { db, directory } = await openStore();
    const brokenMigration: Migration = {
      async up(any) {
        await sql`create table half (id text)`.execute(any);
        await sql`create nonsense`.execute(any);
      },
    };
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(migrate(db, directory, { ...migrations, '9999-broken': brokenMigration })).rejects.toThrow('nonsense');
    expect(await tables(db)).not.toContain('half');
  });

  it('of a newer version are rejected, and the file is not changed', async () => {
    const { db, directory } = await openStore();
    await sql`insert into kysely_migration (name, timestamp) values ('9999-future', '')`.execute(db);
    await expect(migrate(db, directory)).rejects.toMatchObject({
      code: 'data_directory_newer',
      exit: 6,
      message: expect.stringContaining('9999-future'),
    });
  });
});

describe('the file', () => {
  it('has one owner at a time, and is free as soon as it is closed', async () => {
    const { db, directory } = await openStore();
    await expect(openDatabase(directory)).rejects.toMatchObject({ code: 'data_directory_in_use' });
    await db.destroy();
    await (await openDatabase(directory)).destroy();
  });

  it('that a crash leaves needs no clean-up', async () => {
    const { db, directory } = await openStore();
    await db.insertInto('settings').values({ name: 'a', value: 'acknowledged' }).execute();
    const copy = await temporaryDirectory();
    for (const name of await readdir(directory)) await cp(join(directory, name), join(copy, name));
    const secondStore = await openDatabase(copy);
    expect((await secondStore.selectFrom('settings').selectAll().execute())[0]?.value).toBe('acknowledged');
    await secondStore.destroy();
  });

  it('is written through to the disk', async () => {
    const { db } = await openStore();
    const pragma = async (name: string) => Object.values((await sql.raw(`pragma ${name}`).execute(db)).rows[0] as object)[0];
    // In this mode the driver syncs commits.
    expect([await pragma('journal_mode'), await pragma('synchronous'), await pragma('foreign_keys')]).toEqual(['wal', 1, 1]);
  });

  it('reports a change when the write-ahead log was synced, and not before', async () => {
    const { db } = await openStore();
    const resumeGate = new Gate();
    const sync = await heldDisk(resumeGate);
    let isAcknowledged = false;
    const pendingWrite = db
      .insertInto('settings')
      .values({ name: 'a', value: '' })
      .execute()
      .then(() => {
        isAcknowledged = true;
      });
    while (sync.mock.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(isAcknowledged).toBe(false);
    resumeGate.open();
    await pendingWrite;
    expect(sync).toHaveBeenCalledOnce();
  });

  it('rejects values that would end the process or be truncated silently', async () => {
    const { db } = await openStore();
    await expect(
      db
        .insertInto('settings')
        .values({ name: 'flag', value: true as never })
        .execute(),
    ).rejects.toThrow(TypeError);
    await db.insertInto('settings').values({ name: 'nul', value: 'a\0b' }).execute();
    expect((await db.selectFrom('settings').select('value').where('name', '=', 'nul').executeTakeFirst())?.value).toBe('a\ufffdb');
  });
});
