/** PgBouncer, a pooler of database connections, in front of a Postgres server. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { eventually } from './eventually.ts';
import { needsPostgres } from './postgres.ts';
import { type Missing, needsProgram } from './requirements.ts';
import { afterTest } from './temporary.ts';

/** Why tests cannot use PgBouncer. */
export const needsPgBouncer: Missing = needsPostgres ?? needsProgram('pgbouncer', ['--version']);

/** Its settings in the section `pgbouncer`. */
type Settings = Readonly<Record<string, string>>;

const unprivilegedUser = 65_534;

/** Starts PgBouncer until the end of the test. @param database a URL @returns the URL of the same database through it */
export async function startPgBouncer(database: string, settings: Settings): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-pgbouncer-'));
  const { username, hostname, port, pathname, searchParams } = new URL(database);
  const server = { host: searchParams.get('host') ?? hostname, port: port === '' ? '5432' : port, user: username };
  const own = { listen_addr: '', unix_socket_dir: folder, listen_port: '6432', auth_type: 'any', logfile: path.join(folder, 'log') };
  const lines = (values: Settings): string[] => Object.entries(values).map(([name, value]) => `${name}=${value}`);
  const configuration = ['[databases]', `*=${lines(server).join(' ')}`, '[pgbouncer]', ...lines({ ...own, ...settings }), ''];
  const file = path.join(folder, 'pgbouncer.ini');
  await writeFile(file, configuration.join('\n'));
  await chmod(folder, 0o700);
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(folder, unprivilegedUser, unprivilegedUser);
  const user = isRoot ? { uid: unprivilegedUser, gid: unprivilegedUser } : {};
  const child = spawn('pgbouncer', ['--quiet', file], { ...user, cwd: '/', stdio: 'ignore' });
  afterTest(async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  await eventually('PgBouncer has started', () => existsSync(path.join(folder, '.s.PGSQL.6432')) || undefined);
  return `postgres://${username}@localhost${pathname}?host=${encodeURIComponent(folder)}&port=6432`;
}
