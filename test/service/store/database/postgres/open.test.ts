/** Opening a Postgres database: its tables, and the refusals of databases that cannot be used. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { type Migration, sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
import type { AopsError } from '../../../../../src/base/errors.ts';
import { nodeSilence } from '../../../../../src/service/store/database/node-silence.ts';
import { sessionLimits } from '../../../../../src/service/store/database/postgres/connections.ts';
import { withPostgresTypes } from '../../../../../src/service/store/database/postgres/dialect.ts';
import { migrate, migrations } from '../../../../../src/service/store/database/postgres/migrate.ts';
import { openPostgres } from '../../../../../src/service/store/database/postgres/open.ts';
import { DatabaseProxy } from '../../../../support/database-proxy.ts';
import { needsPostgres, newDatabase, newEmptyDatabase } from '../../../../support/postgres.ts';
import { refusingPostgres } from '../../../../support/refusing-postgres.ts';
import { describeNeeding } from '../../../../support/requirements.ts';
import { afterTest, temporaryDirectory } from '../../../../support/temporary.ts';
import { type CertificateName, certificate, tlsFile } from '../../../../support/tls.ts';
import { openNode } from '../../../helpers/postgres.ts';

it('the types of migrations are translated in declarations of columns only', () => {
  expect(withPostgresTypes('create table t (text text not null, n integer, o bigint, z text primary key)')).toBe(
    'create table t (text text collate "C" not null, n bigint, o bigint, z text collate "C" primary key)',
  );
});

it('whoever waits for a lock of a frozen node outlives its transaction, but not the own lease', () => {
  const { idle_in_transaction_session_timeout: idle, lock_timeout: wait } = sessionLimits;
  expect([idle, wait, nodeSilence]).toEqual([idle, wait, nodeSilence].sort((first, second) => first - second));
  expect(new Set([idle, wait, nodeSilence]).size).toBe(3);
});

describeNeeding(needsPostgres, 'a Postgres database', () => {
  it('has the types and the order of SQLite, and an index for searches', async () => {
    const store = await openNode(await newDatabase());
    const { rows } = await sql<{ type: string; collation: string | null }>`
      select distinct data_type as type, collation_name as collation from information_schema.columns
      where table_schema = current_schema() and table_name not like 'kysely%' order by 1`.execute(store);
    expect(rows).toEqual([
      { type: 'bigint', collation: null },
      // The content of files.
      { type: 'bytea', collation: null },
      { type: 'text', collation: 'C' },
    ]);
    for (const name of ['b', 'B', 'ä', 'a']) await store.insertInto('settings').values({ name, value: '9007199254740991' }).execute();
    const names = await store.selectFrom('settings').select('name').where('value', '=', '9007199254740991').orderBy('name').execute();
    expect(names.map(({ name }) => name)).toEqual(['B', 'a', 'b', 'ä']);
    const plan = await store.transaction().execute(async (trx) => {
      await sql`set local enable_seqscan = off`.execute(trx);
      return sql<{ 'QUERY PLAN': string }>`explain select id from runs where title_folded like '%bcd%'`.execute(trx);
    });
    expect(JSON.stringify(plan.rows)).toContain('run_search_titles');
  });

  it('returns integers of 64 bits, sums, and conditions as numbers, and stores no NUL characters', async () => {
    const store = await openNode(await newDatabase());
    const { rows } =
      await sql`select 9007199254740991::bigint as a, sum(b) as b, true as c, ${'x\0y'}::text as d from (values (1), (2)) v (b)`.execute(
        store,
      );
    expect(rows).toEqual([{ a: 9_007_199_254_740_991, b: 3, c: 1, d: 'x\ufffdy' }]);
  });

  it('is created by one of several nodes that start at the same moment', async () => {
    const url = await newEmptyDatabase();
    const stores = await Promise.all([openNode(url, 'a'), openNode(url, 'b'), openNode(url, 'c')]);
    for (const store of stores) expect(await store.selectFrom('jobs').selectAll().execute()).toEqual([]);
  });

  it('is not changed by migrations that fail half-way', async () => {
    const url = await newDatabase();
    const store = await openNode(url);
    const broken: Migration = {
      async up(db) {
        await sql`create table half (id text)`.execute(db);
        await sql`create nonsense`.execute(db);
      },
    };
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(migrate(store, { migrations: { ...migrations, '9999-broken': broken } })).rejects.toThrow('nonsense');
    const { rows } = await sql`select 1 from information_schema.tables where table_name = 'half'`.execute(store);
    expect(rows).toEqual([]);
    const second: Migration = { up: async (db) => void (await sql`create table extra (id text)`.execute(db)) };
    await migrate(store, { migrations: { ...migrations, '9999-extra': second } });
    const { rows: extra } = await sql`select 1 from information_schema.tables where table_name = 'extra'`.execute(store);
    expect(extra).toHaveLength(1);
  });

  it('with other tables is refused and not changed', async () => {
    const url = await newEmptyDatabase();
    const client = new pg.Client(url);
    await client.connect();
    await client.query('create table orders (id int)');
    await expect(openPostgres({ url, instanceId: 'a' })).rejects.toMatchObject({ code: 'database_foreign', exit: 2 });
    const { rows } = await client.query('select table_name from information_schema.tables where table_schema = current_schema()');
    expect(rows).toEqual([{ table_name: 'orders' }]);
    await client.end();
  });

  it('that requires a newer version is refused', async () => {
    const url = await newDatabase();
    const store = await openNode(url);
    await store.updateTable('settings').set({ value: '9998-future' }).where('name', '=', 'schema_min').execute();
    await sql`insert into kysely_migration (name, timestamp) values ('9999-future', '')`.execute(store);
    await expect(openPostgres({ url, instanceId: 'b' })).rejects.toMatchObject({
      ...{ code: 'database_newer', exit: 6, message: expect.stringContaining('9999-future') },
    });
  });

  it('with another encoding is refused', async () => {
    const url = await newEmptyDatabase("encoding 'LATIN1' locale 'C'");
    await expect(openPostgres({ url, instanceId: 'a' })).rejects.toMatchObject({
      ...{ code: 'database_unsuitable', message: 'The encoding of the database is LATIN1.' },
    });
  });

  it('that allows too few connections is refused', async () => {
    const url = await newDatabase();
    await expect(openPostgres({ url, instanceId: 'a', maxConnections: 10_000 })).rejects.toMatchObject({
      ...{ code: 'database_connections_too_few', message: expect.stringContaining('this node needs up to 10001') },
    });
  });

  it('with tables of an extension only is accepted', async () => {
    const url = await newEmptyDatabase();
    const client = new pg.Client(url);
    await client.connect();
    await client.query('create table spatial (id int); create extension pg_trgm; alter extension pg_trgm add table spatial');
    await client.end();
    await openNode(url);
  });

  it('that other nodes need for their connections is refused', async () => {
    const url = await newDatabase();
    const store = await openNode(url);
    const node = { name: 'other', url: 'http://other', version: '1', connections: 290, started_at: '', seen_at: Date.now() };
    await store
      .insertInto('nodes')
      .values({ ...node, id: 'other' })
      .execute();
    await expect(openPostgres({ url, instanceId: 'a', maxConnections: 20 })).rejects.toMatchObject({
      code: 'database_connections_too_few',
    });
    await openPostgres({ url, instanceId: 'a', name: 'other', maxConnections: 20 }).then((own) => own.destroy());
    await store
      .updateTable('nodes')
      .set({ seen_at: Date.now() - 60_000 })
      .execute();
    await openPostgres({ url, instanceId: 'a', maxConnections: 20 }).then((next) => next.destroy());
  });

  it('behind a pooler from which notifications do not arrive is refused', async () => {
    const proxy = await DatabaseProxy.to(await newDatabase());
    proxy.dropNotifications();
    const url = `${proxy.url}?sslmode=disable`;
    await expect(openPostgres({ url, instanceId: 'a' })).rejects.toMatchObject({ code: 'database_pooler_unsuitable', exit: 2 });
  });

  it('whose tables are missing is refused where they must exist', async () => {
    await expect(openPostgres({ url: await newEmptyDatabase(), instanceId: 'a', requireTables: true })).rejects.toMatchObject({
      code: 'database_not_migrated',
    });
    await openPostgres({ url: await newDatabase(), instanceId: 'a', requireTables: true }).then((store) => store.destroy());
  });

  it('that does not exist is refused', async () => {
    const missing = new URL(await newDatabase());
    missing.pathname = '/none';
    await expect(openPostgres({ url: missing.href, instanceId: 'a' })).rejects.toMatchObject({
      ...{ code: 'database_missing', exit: 3, message: 'The server has no database "none".' },
    });
  });
});

describe('a database that cannot be reached is refused with the reason', () => {
  const open = (url: string) =>
    openPostgres({ url, instanceId: 'a' }).then(
      () => 'opened',
      (error: AopsError) => [error.code, error.message, error.hint].join(' | '),
    );

  it('a connection that breaks', async () => {
    const port = await refusingPostgres({ error: ['57P03', 'the database system is starting up'] });
    expect(await open(`postgres://aops@127.0.0.1:${port}/aops`)).toMatch(/^database_unreachable \| The database is starting or stopping/);
  });

  it('an address where nothing listens, and a socket that does not exist', async () => {
    expect(await open('postgres://aops@127.0.0.1:1/aops')).toMatch(
      /^database_unreachable \| Nothing accepts connections at 127\.0\.0\.1, port 1/,
    );
    expect(await open('postgres://aops@/aops?host=/nowhere')).toMatch(/^database_unreachable \| There is no socket .* in \/nowhere/);
  });

  it('a password that is missing, and one that is wrong', async () => {
    const port = await refusingPostgres({ error: ['28P01', 'password authentication failed'], asksForPassword: true });
    const withoutPassword = await open(`postgres://aops@127.0.0.1:${port}/aops`);
    const withPassword = await open(`postgres://aops:hunter2@127.0.0.1:${port}/aops`);
    expect(withPassword).toMatch(/^database_access_denied \| The database did not accept the user and the password/);
    expect(withoutPassword).toMatch(/^database_access_denied \| .*password/);
    expect(withPassword).not.toContain('hunter2');
  });

  it('a password from a file, without a warning', async () => {
    const passwords: string[] = [];
    const asked = { error: ['28P01', 'password authentication failed'] as const, asksForPassword: true };
    const port = await refusingPostgres({ ...asked, onPassword: (password) => passwords.push(password) });
    const file = path.join(await temporaryDirectory(), 'pgpass');
    await writeFile(file, `127.0.0.1:${port}:*:aops:from\\:the file\n`, { mode: 0o600 });
    const warnings: string[] = [];
    const noteWarning = ({ message }: Error) => void warnings.push(message);
    process.on('warning', noteWarning);
    afterTest(() => {
      process.off('warning', noteWarning);
      vi.unstubAllEnvs();
    });
    vi.stubEnv('PGPASSFILE', file);
    await open(`postgres://aops@127.0.0.1:${port}/aops`);
    await open(`postgres://aops:in%20the%20URL@127.0.0.1:${port}/aops`);
    // Warnings are emitted later.
    await new Promise((resolve) => setImmediate(resolve));
    expect([...new Set(passwords)]).toEqual(['from:the file', 'in the URL']);
    expect(warnings).toEqual([]);
  });

  it('a server that accepts only encrypted connections', async () => {
    const port = await refusingPostgres({ error: ['28000', 'no pg_hba.conf entry for host "1.2.3.4", user "aops", no encryption'] });
    expect(await open(`postgres://aops@127.0.0.1:${port}/aops`)).toMatch(/database_access_denied .*add sslmode=require/);
  });

  it('a pooler that does not accept the limits of a session', async () => {
    const port = await refusingPostgres({ error: ['08P01', 'unsupported startup parameter: statement_timeout'] });
    expect(await open(`postgres://aops@127.0.0.1:${port}/aops`)).toMatch(/^database_pooler_unsuitable/);
  });

  it('a server without TLS, and one whose certificate is not trusted or for another name', async () => {
    const plain = await refusingPostgres({});
    expect(await open(`postgres://aops@127.0.0.1:${plain}/aops?sslmode=require`)).toMatch(
      /^database_tls_failed \| The database at 127\.0\.0\.1 does not use TLS/,
    );
    const ca = `sslrootcert=${tlsFile('ca.pem')}`;
    const at = async (name: CertificateName, parameters: string) =>
      open(`postgres://aops@127.0.0.1:${await refusingPostgres({ tls: certificate(name) })}/aops?${parameters}`);
    expect(await at('server', 'sslmode=verify-full')).toMatch(/^database_tls_failed .* not from a trusted authority/);
    expect(await at('wrong-name', `sslmode=verify-full&${ca}`)).toMatch(/^database_tls_failed .* is not for 127\.0\.0\.1/);
    expect(await at('expired', `sslmode=verify-full&${ca}`)).toMatch(/^database_tls_failed .* has expired/);
    // The connection is made, and then refused by the server.
    for (const [name, parameters] of [
      ['server', `sslmode=verify-full&${ca}`],
      ['wrong-name', `sslmode=verify-ca&${ca}`],
      ['self-signed', 'sslmode=require'],
      ['self-signed', ''],
    ] as const)
      expect([parameters, await at(name, parameters)]).toEqual([parameters, expect.stringContaining('cannot be used: refused')]);
    expect(await at('self-signed', `sslmode=require&${ca}`)).toMatch(/^database_tls_failed/);
    expect(await at('server', 'sslmode=verify-ca')).toMatch(/^database_url_invalid \| sslmode=verify-ca requires sslrootcert/);
    expect(await at('server', 'sslmode=always')).toMatch(/^database_url_invalid/);
  });

  it('a URL that is not valid, without repeating it', async () => {
    expect(await open('postgres://aops:hunter2@[/aops')).toBe(
      'database_url_invalid | The URL of the database is not valid. | It is written as postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full.',
    );
    expect(await open('postgres://aops@a,b/aops')).toMatch(/^database_url_invalid/);
  });
});
