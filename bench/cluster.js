/** Nodes of aops on one Postgres database, and runs on them, for the benchmark of nodes. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { requestBytes } from './comparison.js';
import { LoadConnections } from './load.js';
import { caller, newAgent } from './seeded.js';
import { cleanEnvironment, launcher, processCpu, runMeasured, startService } from './support.js';

/** A plan that does not limit how many runs are executed at a time; `--run-concurrency` does. */
const plan = { name: 'bench', maxConcurrentRuns: 1_000 };
/** Milliseconds between two questions of how many runs have ended. */
const pause = 10;

/** A procedure with this many steps, each of which records a text. */
export const procedureOf = (steps) => `version: 1\nsteps:\n${'  - say: Done.\n'.repeat(steps)}`;

/**
 * Starts a service: nodes that share a database, or without `databaseUrl` one with SQLite.
 * @returns its `nodes`, `databaseUrl`, `team`, `token`, `call` for requests to the first node, `start(name)`, which starts a further one,
 * and `stop()`
 */
export async function startCluster(folder, { databaseUrl, nodes: count = 1, flags = [], nodeFlags = [] }) {
  const env = cleanEnvironment(folder);
  await mkdir(folder);
  const planFile = path.join(folder, 'plan.json');
  await writeFile(planFile, JSON.stringify(plan));
  if (databaseUrl !== undefined)
    Object.assign(env, { AOPS_DATABASE_URL: databaseUrl, AOPS_SECRET_KEY: randomBytes(32).toString('base64') });
  const common = ['--rate-limit', '100000000', '--log-level', 'warn', ...flags];
  const start = (name) =>
    databaseUrl === undefined
      ? startService(env, path.join(folder, name), [...common, '--plan', planFile], nodeFlags)
      : startService(env, path.join(folder, name), [...common, '--node-name', name], nodeFlags);
  const nodes = [];
  const stop = () => Promise.all(nodes.map((node) => node.stop()));
  try {
    for (let number = 1; number <= count; number += 1) nodes.push(await start(`node-${number}`));
    let { token } = nodes[0];
    if (databaseUrl !== undefined) {
      const tokenFile = path.join(folder, 'token');
      await runMeasured(process.execPath, [launcher, 'local', 'token', 'create', 'bench', '--to', tokenFile], env);
      await runMeasured(process.execPath, [launcher, 'local', 'plan', 'set', planFile], env);
      token = (await readFile(tokenFile, 'utf8')).trim();
      for (const node of nodes) node.token = token;
    }
    return { nodes, databaseUrl, team: nodes[0].team, token, call: caller({ url: nodes[0].url, token }), start, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Opens connections to all nodes, as a load balancer would distribute them. */
export async function openAll(nodes, count) {
  const opened = await Promise.all(nodes.map(({ url }) => LoadConnections.open(url, Math.max(1, Math.round(count / nodes.length)))));
  return {
    async run(make, options) {
      const counts = await Promise.all(opened.map((connections) => connections.run(make, options)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    close() {
      for (const connections of opened) connections.close();
    },
  };
}

/** Something that executes runs with this many steps on a service; resolves with the milliseconds that `count` of them take. */
export async function runsOf(cluster, steps, connectionCount) {
  const { nodes, team, token, call } = cluster;
  const agentId = await newAgent(call, team, procedureOf(steps));
  const list = `/v2/teams/${team}/runs`;
  const countOf = async (status) => (await call('GET', `${list}?agent_id=${agentId}&count_only=true&status=${status}`)).total;
  const make = requestBytes({ method: 'POST', pathname: list, body: () => JSON.stringify({ agent_id: agentId }) }, token);
  return async (count) => {
    const before = await countOf('completed');
    const connections = await openAll(nodes, connectionCount);
    const startedAt = performance.now();
    const sent = await connections.run(make, { limit: Math.ceil(count / nodes.length) });
    connections.close();
    while ((await countOf('completed')) < before + sent) {
      if ((await countOf('failed')) > 0) throw new Error('A run failed.');
      await setTimeout(pause);
    }
    return ((performance.now() - startedAt) * count) / sent;
  };
}

/** Writes under new idempotency keys for some time. Resolves with the number a second. */
export async function keyedWrites({ nodes, team, token }, milliseconds, connectionCount) {
  const body = () => JSON.stringify({ name: `Agent ${randomBytes(12).toString('hex')}` });
  const make = requestBytes({ method: 'POST', pathname: `/v2/teams/${team}/agents`, body }, token);
  const connections = await openAll(nodes, connectionCount);
  const startedAt = performance.now();
  const sent = await connections.run(make, { milliseconds });
  connections.close();
  return (1_000 * sent) / (performance.now() - startedAt);
}

/** The CPU time of all nodes, in milliseconds. */
export const nodesCpu = ({ nodes }) => nodes.reduce((sum, { pid }) => sum + processCpu(pid), 0);
