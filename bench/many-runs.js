#!/usr/bin/env node
/**
 * Lists and claims of a service with a million runs, compared with those of one with a thousand, on SQLite and on Postgres: pages of lists
 * with every kind of filter, and runs that wait for their turn, of which one is executed at a time. Goals are for the ratio of the medians.
 *
 *   node bench/many-runs.js [--rounds N] [--runs N] [--json]   (npm run bench builds first)
 *
 * Needs the programs of a Postgres server. Exits with 0 whether the goals are met or not; otherwise only if a measurement failed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startCluster } from './cluster.js';
import { startPostgres } from './postgres-server.js';
import { printResult } from './reports.js';
import { caller, oneRun, seedCluster, seedDatabase } from './seeded.js';
import { circumstances, median, startService } from './support.js';

const fewRuns = 1_000;
const goal = 2;
/** Requests for each list and round. */
const requests = 20;
/** How many of the waiting runs are executed in each round. */
const executedRuns = 100;
/** Milliseconds between two questions of how many runs have ended. */
const pause = 20;
const oneAtATime = ['--run-concurrency', '1'];

/** Every run has a word of its own, and all are about invoices. */
const title = "'Check invoice ' || n || ' of the supplier'";
const titles = { title, title_folded: `lower(${title})` };
/** Every hundredth run has an issue. */
const issue = '(case when runs.run_number % 100 = 0 then 1 else 0 end)';

/** The lists. To count what a search or the issues select takes longer the more that is, so their totals are left out. */
const lists = ({ agentId, time }) => [
  { name: 'all runs', query: '?limit=20' },
  { name: 'the oldest first', query: '?limit=20&sort_order=asc' },
  { name: 'page 50', query: '?limit=20&offset=980' },
  { name: 'of a status', query: '?limit=20&status=completed' },
  { name: 'of a status that no run has', query: '?limit=20&status=failed' },
  { name: 'of a source', query: '?limit=20&source=api' },
  { name: 'of an agent', query: `?limit=20&agent_id=${agentId}` },
  { name: 'of an agent and a status', query: `?limit=20&agent_id=${agentId}&status=completed` },
  { name: 'until a time', query: `?limit=20&until=${time}&include_total=false` },
  { name: 'a number', query: '?run_number=777' },
  { name: 'with issues', query: '?limit=20&has_issues=true&include_total=false' },
  { name: 'with issues of a severity', query: '?limit=20&issue_severity=low&include_total=false' },
  { name: 'without issues', query: '?limit=20&has_issues=false&include_total=false' },
  { name: 'a word of one run', query: '?limit=20&search=invoice%20777%20&include_total=false' },
  { name: 'two letters of all runs', query: '?limit=20&search=in&include_total=false' },
  { name: 'two letters of no run', query: '?limit=20&search=zq&include_total=false' },
];

/** Rows that belong to copies of a run, in SQL that both databases understand. */
const evaluations = (id) => `insert into evaluations
  (run_id, status, passed, total, critical, medium, low, issues, comment, results, created_at, updated_at)
  select runs.id, e.status, e.passed, e.total, 0, 0, ${issue}, ${issue}, e.comment, e.results, e.created_at, e.updated_at
  from runs, evaluations e where e.run_id = '${id}' and runs.id <> e.run_id`;
const isCopy = "id like '%-0000-4000-8000-000000000000'";
const waiting = (now) => [
  `update runs set status = 'pending', started_at = null, completed_at = null where ${isCopy}`,
  `insert into jobs (id, kind, subject_id, status, due_at, lane)
   select 'job ' || id, 'run', id, 'queued', ${now} - 10000000 + run_number, team_id from runs where ${isCopy}`,
  `update run_totals set runs = (select count(*) from runs where runs.team_id = run_totals.team_id
   and runs.agent_id = run_totals.agent_id and runs.status = run_totals.status and runs.source = run_totals.source)`,
];

/**
 * A service with this many runs, which has not been started yet.
 * @returns `start()`, which starts it and returns its `url`, `team`, `token`, and `stop()`; `execute(statements)`, which changes its
 * database while it is stopped; `runId` and `agentId`
 */
async function sqliteSetup(folder, name, runs) {
  const { env, data, ...seeded } = await seedDatabase(folder, `sqlite-${name}`, runs, titles);
  const start = () => startService(env, data, ['--rate-limit', '100000000', ...oneAtATime]);
  const execute = async (statements) => {
    const { default: Libsql } = await import('libsql');
    const database = new Libsql(path.join(data, 'aops.db'));
    database.exec('begin');
    for (const statement of statements) database.exec(statement);
    database.exec('commit');
    database.close();
  };
  return { ...seeded, start, execute };
}

async function postgresSetup(folder, name, runs, postgres) {
  const databaseUrl = await postgres.create(name);
  const cluster = await startCluster(path.join(folder, `postgres-${name}`), { databaseUrl, flags: oneAtATime });
  const { team, token } = cluster;
  try {
    const seeded = await seedCluster(cluster, runs, titles);
    let starts = 0;
    const start = async () => {
      starts += 1;
      return { ...(await cluster.start(`start-${starts}`)), team, token };
    };
    const execute = async (statements) => {
      const { default: pg } = await import('pg');
      const database = new pg.Client({ connectionString: databaseUrl });
      await database.connect();
      for (const statement of statements) await database.query(statement);
      await database.query('vacuum (analyze)');
      await database.end();
    };
    return { ...seeded, start, execute };
  } finally {
    await cluster.stop();
  }
}

/** Starts both services while `work` runs, which gets them by the name of their setup. */
async function withServices(setups, work) {
  const services = {};
  try {
    for (const [key, { start }] of Object.entries(setups)) services[key] = await start();
    return await work(services);
  } finally {
    for (const { stop } of Object.values(services)) await stop();
  }
}

/** Milliseconds of one request after the other, or of something else, of both services in turns. The first round is not counted. */
async function compare(services, rounds, work) {
  const times = { few: [], many: [] };
  for (let round = -1; round < rounds; round += 1)
    for (const [key, service] of Object.entries(services))
      for (let count = 0; count < requests; count += 1) {
        const startedAt = performance.now();
        await work(key, service);
        if (round >= 0) times[key].push(performance.now() - startedAt);
      }
  return [median(times.few), median(times.many)];
}

async function measureLists(setups, services, rounds) {
  const results = [];
  const time = new Date().toISOString();
  const queries = { few: lists({ ...setups.few, time }), many: lists({ ...setups.many, time }) };
  for (const [index, { name }] of queries.few.entries()) {
    const read = (key, service) => caller(service)('GET', `/v2/teams/${service.team}/runs${queries[key][index].query}`);
    results.push(resultOf(name, await compare(services, rounds, read)));
  }
  return results;
}

/** Milliseconds of a run when many wait, of which one after the other is executed. Only one service runs at a time. */
async function measureWaiting(setups, rounds) {
  const times = { few: [], many: [] };
  for (const { execute } of Object.values(setups)) await execute(waiting(Date.now()));
  for (let round = -1; round < rounds; round += 1)
    for (const [key, setup] of Object.entries(setups))
      await withServices({ setup }, async ({ setup: service }) => {
        const duration = await durationOf(service, executedRuns);
        if (round >= 0) times[key].push(duration);
      });
  return [median(times.few), median(times.many)];
}

/** Milliseconds that each of this many runs takes. */
async function durationOf(service, runs) {
  const count = async () => (await caller(service)('GET', `/v2/teams/${service.team}/runs?count_only=true&status=completed`)).total;
  const before = await count();
  const startedAt = performance.now();
  let endedRuns = 0;
  while (endedRuns < runs) {
    await setTimeout(pause);
    endedRuns = (await count()) - before;
  }
  return (performance.now() - startedAt) / endedRuns;
}

const resultOf = (name, [few, many]) => ({ name, few_ms: few, many_ms: many, ratio: many / few, goal });

async function measureOn(makeSetup, { runs, rounds }) {
  const setups = { few: await makeSetup('few', fewRuns), many: await makeSetup('many', runs) };
  for (const { execute, runId } of Object.values(setups)) await execute([evaluations(runId)]);
  const results = await withServices(setups, async (services) => [
    ...(await measureLists(setups, services, rounds)),
    resultOf(
      'start and execute a run',
      await compare(services, rounds, (key, service) => oneRun(caller(service), service.team, setups[key].agentId)),
    ),
  ]);
  return [...results, resultOf('execute the next run of those that wait', await measureWaiting(setups, rounds))];
}

async function measure(folder, options) {
  const sqlite = await measureOn((name, runs) => sqliteSetup(folder, name, runs), options);
  const postgres = await startPostgres(folder);
  try {
    return { sqlite, postgres: await measureOn((name, runs) => postgresSetup(folder, name, runs, postgres), options) };
  } finally {
    await postgres.stop();
  }
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    runs: { type: 'string', default: '1000000' },
    json: { type: 'boolean', default: false },
  },
});
const options = Object.fromEntries(['rounds', 'runs'].map((name) => [name, Number(values[name])]));
for (const [name, value] of Object.entries(options))
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is a whole number.`);
const folder = await mkdtemp(path.join(tmpdir(), 'aops-many-runs-'));
try {
  const result = { few_runs: fewRuns, ...options, ...(await measure(folder, options)), circumstances: circumstances(options.rounds) };
  printResult('many-runs', result, values.json);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
