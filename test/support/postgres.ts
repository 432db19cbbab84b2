/**
 * A private Postgres server for tests. It is started when a test first needs it, because that takes seconds, and is stopped after all
 * tests. AOPS_TEST_DATABASE_URL names a running server to use instead, with a user that may create databases.
 */
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import pg from 'pg';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { openPostgres } from '../../src/service/store/database/postgres/open.ts';
import { eventually } from './eventually.ts';
import { programs } from './postgres-programs.ts';
import { PostgresServer, stopServer } from './postgres-server.ts';
import type { Missing } from './requirements.ts';
import { whenDone } from './temporary.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgresFolder: string;
    /** The process that starts the tests and cleans up after them. */
    testProcess: number;
  }
}

/** Whether tests that support both databases use Postgres. */
export const usesPostgres = process.env.AOPS_TEST_DATABASE === 'postgres';

/** Why tests cannot use Postgres. */
export const needsPostgres: Missing =
  process.env.AOPS_TEST_DATABASE_URL !== undefined || programs !== undefined ? undefined : 'postgres is not installed';

/** The same for tests of what only a service with SQLite has: a database in its data directory, and a process that uses it alone. */
export const needsSqlite: Missing = usesPostgres ? 'it is about a data directory with SQLite' : undefined;

/** Runs once before all tests. The function that it returns runs after them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-pg-'));
  project.provide('postgresFolder', folder);
  project.provide('testProcess', process.pid);
  return async () => {
    await stopServer(folder, 'immediate');
    await rm(folder, { recursive: true, force: true });
  };
}

/** The URL of a new database with all tables, which is removed after the last test of the file. */
export async function newDatabase(): Promise<string> {
  return createDatabase(`template "${template}"`);
}

/** The URL of a new database without tables. */
export async function newEmptyDatabase(options = ''): Promise<string> {
  return createDatabase(`template template0 ${options}`);
}

const databases = new Map<string, Promise<string>>();

/**
 * The options for the database of a service in a data directory: none for the one in the directory. With AOPS_TEST_DATABASE=postgres, a database
 * on the Postgres server, which is the same for later services in the directory.
 */
export async function databaseOptions(dataDirectory: string): Promise<{ database?: { url: string; ownerToken: true } }> {
  if (!usesPostgres) return {};
  const url = databases.get(dataDirectory) ?? newDatabase();
  databases.set(dataDirectory, url);
  return { database: { url: await url, ownerToken: true } };
}

const template = 'aops_template';
/** Of the file that is being tested. */
let admin: { folder: string; client: Promise<pg.Client>; url: Promise<string> } | undefined;

async function createDatabase(options: string): Promise<string> {
  const { client, url } = administration();
  const name = `aops_${randomUUID()}`;
  await (await client).query(`create database "${name}" ${options}`);
  whenDone(async () => (await administration().client).query(`drop database if exists "${name}" with (force)`));
  return urlOf(await url, name);
}

function administration() {
  if (admin !== undefined) return admin;
  const folder = inject('postgresFolder');
  const url = serverUrl(folder);
  const client = url.then(async (connectionString) => {
    const newClient = new pg.Client({ connectionString });
    await newClient.connect();
    return newClient;
  });
  admin = { folder, url, client };
  whenDone(async () => {
    admin = undefined;
    await (await client).end();
  });
  return admin;
}

/** The URL of another database of the same server. */
function urlOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Starts the server, unless a test of any process has started it. */
async function serverUrl(folder: string): Promise<string> {
  const isFirst = await mkdir(path.join(folder, 'starting')).then(
    () => true,
    () => false,
  );
  if (!isFirst) return startedUrl(folder);
  try {
    const url = await startWithTemplate(folder);
    await writeWhole(path.join(folder, 'url'), url);
    return url;
  } catch (error) {
    await writeWhole(path.join(folder, 'failure'), String(error));
    throw error;
  }
}

/** The URL of the server, once another process has started it. */
async function startedUrl(folder: string): Promise<string> {
  return eventually(
    'Postgres has started',
    async () => {
      const failure = await readFile(path.join(folder, 'failure'), 'utf8').catch(() => undefined);
      if (failure !== undefined) throw new Error(`The server for tests was not started: ${failure}`);
      return readFile(path.join(folder, 'url'), 'utf8').catch(() => undefined);
    },
    60_000,
  );
}

/** Writes a file that others never see in part. */
async function writeWhole(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await rename(`${file}.new`, file);
}

/** Starts the server, with a database that has all tables, from which others are copied. */
async function startWithTemplate(folder: string): Promise<string> {
  const url = process.env.AOPS_TEST_DATABASE_URL ?? (await start(folder));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`drop database if exists "${template}" with (force)`);
  await client.query(`create database "${template}" template template0`);
  await client.end();
  await (await openPostgres({ url: urlOf(url, template), instanceId: 'template', maxConnections: 1 })).destroy();
  return url;
}

async function start(folder: string): Promise<string> {
  // Not the order of bytes, so that tests notice texts that are sorted as the server prefers.
  const locale = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en'];
  const settings = {
    ...{ max_connections: '300', shared_buffers: '64MB' },
    // A test server need not survive a power failure.
    ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', deadlock_timeout: '100ms' },
  };
  const server = await PostgresServer.create(folder, settings, locale);
  // The tests cannot stop it when they were killed.
  server.endWith(inject('testProcess'));
  return server.url;
}
