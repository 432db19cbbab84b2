/** The service under test: one node with SQLite, or several nodes on a Postgres server of their own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { cleanEnvironment } from '../support/clean-environment.ts';
import { ChaosDatabase } from './chaos-database.ts';
import { NodeProcess } from './node-process.ts';
import { project } from './project.ts';

export type DatabaseKind = 'sqlite' | 'postgres';

export const nodeCounts: Readonly<Record<DatabaseKind, number>> = { sqlite: 1, postgres: 3 };

export interface ClusterSettings {
  kind: DatabaseKind;
  /** An empty folder. */
  folder: string;
  /** Milliseconds by which the clock of the service is ahead at first. */
  offset: number;
  log: (name: string, text: string) => void;
}

export class Cluster {
  readonly kind: DatabaseKind;
  readonly nodes: readonly NodeProcess[];
  /** Undefined with SQLite. */
  readonly database: ChaosDatabase | undefined;
  readonly #folder: string;
  readonly #env: Record<string, string>;
  #access: { token: string; team: string } | undefined;

  private constructor({ kind, folder, offset, log }: ClusterSettings, database: ChaosDatabase | undefined) {
    this.kind = kind;
    this.database = database;
    this.#folder = folder;
    const folders = ['CONFIG', 'DATA', 'CACHE'].map((name) => [`AOPS_${name}_DIR`, path.join(folder, name.toLowerCase())]);
    this.#env = { ...cleanEnvironment(), HOME: folder, TMPDIR: path.join(folder, 'tmp'), ...Object.fromEntries(folders) };
    const args = ['--exec', 'host', '--port', '0', '--rate-limit', '100000/s', '--allow-webhook-host', 'loopback', '--log-level', 'warn'];
    this.nodes = Array.from({ length: nodeCounts[kind] }, (_, index) => {
      const name = `node-${index + 1}`;
      const env = { ...this.#env, ...database?.environment(index) };
      const own = ['serve', '--data-dir', path.join(folder, name), ...(database === undefined ? [] : ['--node-name', name])];
      return new NodeProcess({ name, args: [...own, ...args], env, log }, database === undefined ? offset : 0);
    });
  }

  /** Starts the database and all nodes. */
  static async start(settings: ClusterSettings): Promise<Cluster> {
    const { kind, folder, offset } = settings;
    await mkdir(path.join(folder, 'tmp'), { recursive: true });
    const database = kind === 'postgres' ? await ChaosDatabase.start(path.join(folder, 'postgres'), nodeCounts[kind]) : undefined;
    await database?.setClock(offset);
    const cluster = new Cluster(settings, database);
    const [first, ...others] = cluster.nodes as [NodeProcess, ...NodeProcess[]];
    // The first one creates the tables.
    const urls = [await first.start(), ...(await Promise.all(others.map((node) => node.start())))];
    if (urls.includes(undefined)) throw new Error('A node did not start.');
    return cluster;
  }

  /** The addresses of the nodes that have not ended. */
  get urls(): string[] {
    return this.nodes.flatMap(({ url }) => (url === undefined ? [] : [url]));
  }

  /** A token with full access to a team. */
  async access(): Promise<{ token: string; team: string }> {
    this.#access ??= this.database === undefined ? await this.#ownerAccess() : await this.#createToken(this.database);
    return this.#access;
  }

  /** Sets the clock from which the service takes its time: that of the machine with SQLite, that of the database with Postgres. */
  async setClock(offset: number): Promise<void> {
    if (this.database !== undefined) await this.database.setClock(offset);
    else for (const node of this.nodes) await node.setClock(offset);
  }

  async close(): Promise<void> {
    for (const node of this.nodes) node.thaw();
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.database?.close();
  }

  async #ownerAccess(): Promise<{ token: string; team: string }> {
    const data = path.join(this.#folder, 'node-1');
    const { team_id: team } = JSON.parse(await readFile(path.join(data, 'service.json'), 'utf8')) as { team_id: string };
    return { token: (await readFile(path.join(data, 'token'), 'utf8')).trim(), team };
  }

  async #createToken(database: ChaosDatabase): Promise<{ token: string; team: string }> {
    const args = [path.join(project, 'bin/aops.js'), 'local', 'token', 'create', 'chaos', '--reveal', '--json'];
    const child = spawn(process.execPath, args, {
      env: { ...this.#env, ...database.environment(0) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await once(child, 'close');
    const { token, team_id: team } = JSON.parse(text) as { token: string; team_id: string };
    return { token, team };
  }
}
