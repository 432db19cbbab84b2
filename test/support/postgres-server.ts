/** A private Postgres server in a folder, which listens on a socket there. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { programs } from './postgres-programs.ts';

/** The server refuses to run as root. */
const unprivilegedUser = 65_534;
const isRoot = process.getuid?.() === 0;
const asServer: SpawnOptions = isRoot ? { uid: unprivilegedUser, gid: unprivilegedUser } : {};

/** Settings of the server by name, as in its configuration file. */
export type ServerSettings = Readonly<Record<string, string>>;

/** How a server stops: `fast` ends all connections and writes everything down, `immediate` ends like a crash. */
export type StopMode = 'fast' | 'immediate';

export class PostgresServer {
  /** The URL of the database `postgres`, with a user that may do everything. */
  readonly url: string;
  readonly #folder: string;
  readonly #settings: ServerSettings;

  private constructor(folder: string, settings: ServerSettings) {
    this.#folder = folder;
    this.#settings = settings;
    this.url = `postgres://aops@localhost/postgres?host=${encodeURIComponent(folder)}`;
  }

  /** Creates a server in an empty folder and starts it. @param locale arguments of initdb */
  static async create(folder: string, settings: ServerSettings, locale: readonly string[] = ['--locale=C.UTF-8']): Promise<PostgresServer> {
    await chmod(folder, 0o700);
    if (isRoot) await chown(folder, unprivilegedUser, unprivilegedUser);
    await execute('initdb', ['-D', dataIn(folder), '-U', 'aops', '-A', 'trust', '-E', 'UTF8', ...locale, '--no-sync']);
    const server = new PostgresServer(folder, settings);
    await server.start();
    return server;
  }

  /** Starts the server after it was stopped. Resolves when it accepts connections. */
  async start(): Promise<void> {
    const settings = { listen_addresses: '', unix_socket_directories: this.#folder, ...this.#settings };
    const options = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
    const log = path.join(this.#folder, 'log');
    await execute('pg_ctl', ['start', '-D', dataIn(this.#folder), '-w', '-s', '-l', log, '-o', options.join(' ')]);
  }

  stop(mode: StopMode): Promise<void> {
    return stopServer(this.#folder, mode);
  }

  /** Stops the server and removes its folder when a process has ended, which may have been killed before it could do that. */
  endWith(pid: number): void {
    const script = `exec 2>/dev/null; while kill -0 "$0"; do sleep 1; done; kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"; rm -rf "$1"`;
    spawn('sh', ['-c', script, String(pid), this.#folder], { detached: true, stdio: 'ignore', cwd: '/' }).unref();
  }
}

/** Stops the server in a folder, if there is one. */
export async function stopServer(folder: string, mode: StopMode): Promise<void> {
  if (existsSync(path.join(dataIn(folder), 'postmaster.pid'))) await execute('pg_ctl', ['stop', '-D', dataIn(folder), '-m', mode, '-s']);
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
