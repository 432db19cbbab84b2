/**
 * A private Postgres server for tests. It is started when a test first needs it, because that takes seconds, and is stopped after all
 * tests. AOPS_TEST_DATABASE_URL names a running server to use instead, with a user that may create databases.
 */
import { type SpawnOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import pg from 'pg';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { openPostgres } from '../../src/service/store/database/postgres/open.ts';
import { eventually } from './eventually.ts';
import { programs } from './postgres-programs.ts';
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

/** The server refuses to run as root. */
const unprivilegedUser = 65_534;
const isRoot = process.getuid?.() === 0;
const asServer: SpawnOptions = isRoot ? { uid: unprivilegedUser, gid: unprivilegedUser } : {};

/** Why tests cannot use Postgres. */
export const needsPostgres: Missing =
  process.env.AOPS_TEST_DATABASE_URL !== undefined || programs !== undefined ? undefined : 'postgres is not installed';

/** The same for tests of the files of SQLite, which Postgres does not have. */
export const needsSqlite: Missing = usesPostgres ? 'it is about the files of SQLite' : undefined;

/** Runs once before all tests. The function that it returns runs after them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-pg-'));
  project.provide('postgresFolder', folder);
  project.provide('testProcess', process.pid);
  return async () => {
    if (existsSync(dataIn(folder))) await execute('pg_ctl', ['stop', '-D', dataIn(folder), '-m', 'immediate', '-s']);
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
export async function databaseOptions(dataDirectory: string): Promise<{ database?: { url: string } }> {
  if (!usesPostgres) return {};
  const url = databases.get(dataDirectory) ?? newDatabase();
  databases.set(dataDirectory, url);
  return { database: { url: await url } };
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
  const file = path.join(folder, 'url');
  const isFirst = await mkdir(path.join(folder, 'starting')).then(
    () => true,
    () => false,
  );
  if (!isFirst) return eventually('Postgres has started', () => readFile(file, 'utf8').catch(() => undefined), 60_000);
  const url = process.env.AOPS_TEST_DATABASE_URL ?? (await start(folder));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`drop database if exists "${template}" with (force)`);
  await client.query(`create database "${template}" template template0`);
  await client.end();
  await (await openPostgres({ url: urlOf(url, template), instanceId: 'template', maxConnections: 1 })).destroy();
  await writeFile(`${file}.new`, url);
  await rename(`${file}.new`, file);
  return url;
}

async function start(folder: string): Promise<string> {
  await chmod(folder, 0o700);
  if (isRoot) await chown(folder, unprivilegedUser, unprivilegedUser);
  const data = dataIn(folder);
  // Not the order of bytes, so that tests notice texts that are sorted as the server prefers.
  const locale = ['--locale=C.UTF-8', '--locale-provider=icu', '--icu-locale=en'];
  await execute('initdb', ['-D', data, '-U', 'aops', '-A', 'trust', '-E', 'UTF8', ...locale, '--no-sync']);
  const settings = {
    ...{ listen_addresses: '', unix_socket_directories: folder, max_connections: '300', shared_buffers: '64MB' },
    // A test server need not survive a power failure.
    ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', deadlock_timeout: '100ms' },
  };
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
  await execute('pg_ctl', ['start', '-D', data, '-w', '-s', '-l', path.join(folder, 'log'), '-o', options.join(' ')]);
  stopWithTests(folder);
  return `postgres://aops@localhost/postgres?host=${encodeURIComponent(folder)}`;
}

/** Stops the server when the tests were killed, which cannot clean up then. */
function stopWithTests(folder: string): void {
  const script = `while kill -0 "$0" 2>/dev/null; do sleep 1; done; kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")" && rm -rf "$1"`;
  spawn('sh', ['-c', script, String(inject('testProcess')), folder], { detached: true, stdio: 'ignore', cwd: '/' }).unref();
}

const dataIn = (folder: string): string => path.join(folder, 'data');

async function execute(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(path.join(programs ?? '', program), args, { ...asServer, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  // The server that pg_ctl starts keeps its outputs open, so `close` would never come.
  const status = await new Promise((resolve, reject) => child.on('exit', resolve).on('error', reject));
  if (status !== 0) throw new Error(`${program} failed: ${output}`);
}
