/**
 * A private Postgres server for benchmarks, with its default durability: each commit is synced before it is acknowledged. Its data is
 * in the folder of temporary files.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

/** Debian does not put the programs of the server on the search path. */
const debianFolder = '/usr/lib/postgresql';
/** The server refuses to run as root. */
const unprivilegedUser = 65_534;

/** The folder of the programs: an empty text if they are on the search path. @throws Error if Postgres is not installed */
function programsFolder() {
  if (spawnSync('initdb', ['--version'], { stdio: 'ignore' }).error === undefined) return '';
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder) : [];
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => path.join(debianFolder, version, 'bin'));
  const folder = folders.find((each) => existsSync(path.join(each, 'initdb')));
  if (folder === undefined) throw new Error('Postgres is not installed: install its server, such as the package postgresql of Debian.');
  return folder;
}

/**
 * Starts a server in a new folder, in the one specified.
 * @returns `version`; `urlOf(name)`, the URL of a database; `create(name)`, which creates one and returns its URL; `analyze()`, which
 * collects statistics of all tables, as autovacuum does after about a minute; `cpu()`, the milliseconds of CPU time of all processes of
 * the server; and `stop()`
 */
export async function startPostgres(folder, settings = {}) {
  const programs = programsFolder();
  const data = path.join(folder, 'postgres');
  const isRoot = process.getuid?.() === 0;
  const execute = async (program, args) => {
    const child = spawn(path.join(programs, program), args, {
      ...(isRoot ? { uid: unprivilegedUser, gid: unprivilegedUser } : {}),
      ...{ cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    // A server that was started keeps its outputs open, so `close` would never come.
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`${program} failed: ${output}`);
    return output;
  };
  await chmod(folder, 0o711);
  await mkdir(data, { mode: 0o700 });
  if (isRoot) await chown(data, unprivilegedUser, unprivilegedUser);
  const cluster = path.join(data, 'cluster');
  await execute('initdb', ['-D', cluster, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8']);
  const all = { listen_addresses: '', unix_socket_directories: data, max_connections: '200', shared_buffers: '256MB', ...settings };
  const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
  await execute('pg_ctl', ['start', '-D', cluster, '-w', '-s', '-l', path.join(data, 'log'), '-o', options.join(' ')]);
  const pid = Number(readFileSync(path.join(cluster, 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  const urlOf = (name) => `postgres://bench@localhost/${name}?host=${encodeURIComponent(data)}`;
  return {
    version: (await execute('postgres', ['--version'])).trim(),
    ...{ data, urlOf },
    async create(name) {
      await execute('createdb', ['-h', data, '-U', 'bench', '-T', 'template0', '-E', 'UTF8', name]);
      return urlOf(name);
    },
    analyze: () => execute('vacuumdb', ['-h', data, '-U', 'bench', '--all', '--analyze-only', '-q']),
    cpu: () => serverCpu(pid),
    stop: () => execute('pg_ctl', ['stop', '-D', cluster, '-m', 'fast', '-s']),
  };
}

/** The CPU time of a process, of those that it has started, and of those of them that have ended, in milliseconds. Linux only. */
function serverCpu(pid) {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'latin1').split(') ')[1].split(' ');
      if (Number(name) === pid) ticks += [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
      else if (Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It has ended meanwhile.
    }
  }
  return ticks * 10;
}
