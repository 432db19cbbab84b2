/** How long it takes until the runs of a killed node continue, for the benchmark of nodes. */
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { newAgent } from './seeded.js';
import { median } from './support.js';

/** A run that records a result every fifth of a second, for longer than all others need to continue. */
const procedure = `version: 1\nsteps:\n${'  - tool: { name: work, takes: 200ms, result: done }\n'.repeat(300)}`;
/** Milliseconds between two looks, which is how exact the results are. */
const pause = 20;
/** Milliseconds in which every run has begun. */
const beginning = 3_000;
const limit = 60_000;

/**
 * Starts runs on each service, kills one of its nodes with SIGKILL, and waits until the runs that it was executing have recorded
 * something further. The service with one node is started again immediately. All services do this at the same time, because they mostly
 * wait. Returns the milliseconds for each service.
 */
export const takeovers = (targets, runs) => Promise.all(targets.map((target) => takeover(target, runs)));

async function takeover({ name, cluster }, runsPerNode) {
  const { call, team, nodes, databaseUrl } = cluster;
  const database = new pg.Client({ connectionString: databaseUrl });
  // If another measurement fails, the server is stopped; only its error is reported.
  database.on('error', () => undefined);
  await database.connect();
  try {
    const agentId = await newAgent(call, team, procedure);
    const ids = [];
    for (let number = 0; number < runsPerNode * nodes.length; number += 1)
      ids.push((await call('POST', `/v2/teams/${team}/runs`, { agent_id: agentId })).run.id);
    await setTimeout(beginning);
    const { name: victimName, runs: killedRuns } = await busiestNode(database);
    const index = Number(victimName.slice('node-'.length)) - 1;
    process.kill(nodes[index].pid, 'SIGKILL');
    const killedAt = performance.now();
    await nodes[index].ended;
    const last = await lastMessages(database, killedRuns);
    const [{ token }] = nodes.splice(index, 1);
    if (nodes.length === 0) nodes.push({ ...(await cluster.start(victimName)), token });
    const times = await timesToContinue(database, last, killedAt);
    return { name, runs: times.length, median_ms: median(times), maximum_ms: Math.max(...times) };
  } finally {
    await database.end();
  }
}

/** The node that executes the most runs, and their IDs. Between two steps, a run belongs to no node: it is looked for again. */
async function busiestNode(database) {
  const beganAt = performance.now();
  for (;;) {
    const { rows } = await database.query(
      `select name, array_agg(subject_id) as runs from jobs join nodes on nodes.id = jobs.owner
        where kind = 'run' and status = 'running' group by name order by count(*) desc limit 1`,
    );
    if (rows.length > 0) return rows[0];
    if (performance.now() - beganAt > limit) throw new Error('No run is being executed.');
    await setTimeout(1);
  }
}

/** The number of the last message of each run, by its ID. */
async function lastMessages(database, ids) {
  const query = 'select run_id as id, max(seq)::int as last from messages where run_id = any($1) group by run_id';
  const { rows } = await database.query(query, [ids]);
  return new Map(rows.map(({ id, last }) => [id, last]));
}

/** Milliseconds after which each of the runs has a further message. */
async function timesToContinue(database, last, startedAt) {
  const times = new Map();
  while (times.size < last.size) {
    if (performance.now() - startedAt > limit) throw new Error(`${last.size - times.size} runs were not continued.`);
    await setTimeout(pause);
    const current = await lastMessages(database, [...last.keys()]);
    for (const [id, number] of current) if (number > last.get(id) && !times.has(id)) times.set(id, performance.now() - startedAt);
  }
  return [...times.values()];
}
