/** Services with many runs, for the benchmark of the service. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { cleanEnvironment, startService } from './support.js';

/**
 * A data directory whose first team has this many runs. They are copies of one that was really executed; `changes` contains an SQL
 * expression of `n`, the number of the run, for each column that differs further.
 */
export async function seedDatabase(folder, name, runs, changes = {}) {
  const env = cleanEnvironment(path.join(folder, name));
  const data = path.join(folder, name, 'data');
  const service = await startService(env, data, ['--rate-limit', '1000000']);
  try {
    const run = await oneRun(caller(service), service.team);
    await service.stop();
    const { default: Libsql } = await import('libsql');
    const database = new Libsql(path.join(data, 'aops.db'));
    const columns = database
      .prepare('pragma table_info(runs)')
      .all([])
      .map((column) => column.name);
    const id = "printf('%08x-0000-4000-8000-000000000000', n)";
    const createdAt = "strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-' || (? - n) || ' seconds')";
    const values = valuesOf(columns, { id, created_at: createdAt, ...changes });
    database.exec('begin');
    database
      .prepare(
        `insert into runs (${columns.join(', ')}) with recursive numbers (n) as (select 2 union all select n + 1 from numbers where n < ?) select ${values} from runs, numbers where id = ?`,
      )
      .run([runs, runs, run.id]);
    database.exec(countRuns);
    database.exec('commit');
    database.close();
    return { env, data, runId: run.id, agentId: run.agent_id };
  } finally {
    await service.stop();
  }
}

/** The same for the first team of nodes with Postgres. @param cluster see `startCluster` (cluster.js) */
export async function seedCluster({ call, team, databaseUrl }, runs, changes = {}) {
  const run = await oneRun(call, team);
  const { default: pg } = await import('pg');
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query("select column_name as name from information_schema.columns where table_name = 'runs'");
    const columns = rows.map(({ name }) => name);
    const id = "lpad(to_hex(n), 8, '0') || '-0000-4000-8000-000000000000'";
    const time = `(created_at::timestamptz - (${runs} - n) * interval '1 second') at time zone 'UTC'`;
    const createdAt = `to_char(${time}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
    const values = valuesOf(columns, { id, created_at: createdAt, ...changes });
    // Indexes of parts of texts are created much faster afterwards.
    const indexes = await database.query("select indexname as name, indexdef as definition from pg_indexes where indexdef like '%trgm%'");
    for (const { name } of indexes.rows) await database.query(`drop index ${name}`);
    await database.query(
      `insert into runs (${columns.join(', ')}) select ${values} from runs, generate_series(2, ${runs}) as n where id = $1`,
      [run.id],
    );
    for (const { definition } of indexes.rows) await database.query(definition);
    await database.query(countRuns);
    await database.query('vacuum (analyze)');
    return { runId: run.id, agentId: run.agent_id };
  } finally {
    await database.end();
  }
}

/** What is selected for each column of a copied run. */
const valuesOf = (columns, changes) => columns.map((column) => ({ run_number: 'n', ...changes })[column] ?? column).join(', ');

const countRuns = "update run_totals set runs = (select count(*) from runs) where status = 'completed'";

/** Calls the service with JSON over HTTP. Throws on any failure. */
export function caller({ url, token }) {
  return async (method, pathname, body) => {
    const response = await fetch(`${url}${pathname}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': randomUUID() },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${pathname} was answered ${response.status}: ${text}`);
    return JSON.parse(text);
  };
}

/** A run that has ended, by default of a new agent. */
export async function oneRun(call, team, agentId) {
  const agent_id = agentId ?? (await newAgent(call, team));
  const { run } = await call('POST', `/v2/teams/${team}/runs`, { agent_id, message: 'Invoices of today' });
  return untilEnded(call, run.id);
}

/** An agent with a procedure, by default one of one step, that a runtime executes. */
export async function newAgent(call, team, procedure = 'version: 1\nsteps:\n  - say: Done.\n', model = 'script') {
  const data = { models: { agent: { model }, browsing: { provider: 'anthropic', model: 'none' } }, input: procedure };
  const { agent } = await call('POST', `/v2/teams/${team}/agents`, {
    name: `Bench ${randomUUID()}`,
    build: { name: 'First', config: { version: 'v2', data } },
  });
  return agent.id;
}

/** Waits for a run to complete. Throws if it does not succeed. */
export async function untilEnded(call, runId) {
  for (;;) {
    const { run } = await call('GET', `/v2/runs/${runId}`);
    if (run.status === 'completed') return run;
    if (['failed', 'interrupted'].includes(run.status)) throw new Error(`The run ended as ${run.status}: ${run.error}`);
  }
}
