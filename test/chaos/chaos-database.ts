/** A Postgres server that is restarted, whose connections break, and whose clock jumps. */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import process from 'node:process';
import pg from 'pg';
import { DatabaseProxy } from '../support/database-proxy.ts';
import { PostgresServer, type StopMode } from '../support/postgres-server.ts';

const name = 'aops';

export class ChaosDatabase {
  /** One for each node, between it and the server. */
  readonly proxies: readonly DatabaseProxy[];
  readonly #server: PostgresServer;
  readonly #url: string;
  readonly #secretKey = randomBytes(32).toString('base64');

  private constructor(server: PostgresServer, url: string, proxies: readonly DatabaseProxy[]) {
    this.#server = server;
    this.#url = url;
    this.proxies = proxies;
  }

  static async start(folder: string, nodeCount: number): Promise<ChaosDatabase> {
    await mkdir(folder);
    // Only what a machine that loses its power needs is turned off. A commit has to survive a server that ends immediately.
    const server = await PostgresServer.create(folder, { max_connections: '100', fsync: 'off', full_page_writes: 'off' });
    server.endWith(process.pid);
    await execute(server.url, `create database ${name} template template0`);
    const url = new URL(server.url);
    url.pathname = `/${name}`;
    // Functions of the database take precedence over those of the server, so that its clock can be set.
    await execute(url.href, `alter database ${name} set search_path = public, pg_catalog`);
    const proxies = await Promise.all(Array.from({ length: nodeCount }, () => DatabaseProxy.open(url.href)));
    return new ChaosDatabase(server, url.href, proxies);
  }

  /** The variables with which a node uses the database. */
  environment(node: number): Record<string, string> {
    return { AOPS_DATABASE_URL: this.proxies[node]?.url as string, AOPS_SECRET_KEY: this.#secretKey };
  }

  /** Sets the clock. @param offset milliseconds by which it is ahead from now on */
  async setClock(offset: number): Promise<void> {
    const time = `pg_catalog.clock_timestamp() + interval '${offset} milliseconds'`;
    const definition = `function public.clock_timestamp() returns timestamptz language sql volatile as $$ select ${time} $$`;
    await execute(this.#url, `create or replace ${definition}`);
  }

  /** Ends all connections of nodes. Returns how many there were. */
  async terminateConnections(): Promise<number> {
    const rows = await execute(this.#url, `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'aops/%'`);
    return rows.length;
  }

  async restart(mode: StopMode): Promise<void> {
    await this.#server.stop(mode);
    await this.#server.start();
  }

  async close(): Promise<void> {
    for (const proxy of this.proxies) proxy.close();
    await this.#server.stop('immediate');
  }
}

async function execute(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
