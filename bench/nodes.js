#!/usr/bin/env node
/**
 * Runs of 1 and 5 steps on 1, 2, and 3 nodes with Postgres, and on one service with SQLite, next to workflows of DBOS with as many
 * steps on the same Postgres, in turns. Also measured: changes with an idempotency key, how long a read takes while others start runs,
 * and the time from `kill -9` of a node until its runs continue elsewhere. Postgres has its default durability. The load comes from this process, on the same machine.
 *
 *   node bench/nodes.js [--rounds N] [--milliseconds N] [--takeover N] [--json]   (npm run bench builds first)
 *
 * DBOS is not part of aops: `npm ci --ignore-scripts --prefix bench/peers` installs it. Exits with 0 whether the goals are met or not;
 * otherwise only if a measurement failed.
 */
import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readsOfBusyTeam } from './busy-team.js';
import { keyedWrites, nodesCpu, runsOf, startCluster } from './cluster.js';
import { startPostgres } from './postgres-server.js';
import { printResult } from './reports.js';
import { circumstances, cleanEnvironment, median, processCpu } from './support.js';
import { takeovers } from './takeover.js';

const peers = fileURLToPath(new URL('./peers/', import.meta.url));
const dbosProgram = path.join(peers, 'dbos.js');
/** Why DBOS is not measured. */
const dbosMissing = existsSync(path.join(peers, 'node_modules', '@dbos-inc', 'dbos-sdk'))
  ? undefined
  : 'DBOS is not installed; run npm ci --ignore-scripts --prefix bench/peers';

/** Connections to the database of each process: the default of both. More made neither faster on two processors. */
const databaseConnections = 10;
/** How many runs a node executes, and workflows a process of DBOS, at a time; and connections of clients. Each was the fastest of some. */
const concurrency = { runs: 16, workflows: 32, clients: 16 };
/** How many clients start runs while a run is read. */
const busyClients = 64;
const stepCounts = [1, 5];
/** How many runs are executed before the first round, which also show how many fit into the time of a measurement. */
const trialRuns = { first: 30, second: 100 };
/** Of the rate in relation to DBOS; of two nodes in relation to one; and of a read while others start runs in relation to a quiet service. */
const goals = { postgres: { 5: 2 }, sqlite: { 1: 1.5, 5: 2 }, twoNodes: 1.6, busy: 5 };

/** Something that executes runs: `work(steps)` returns a function of a number of runs; `cpu()` is that of its processes. */
async function startAops(folder, name, options) {
  const flags = ['--run-concurrency', String(concurrency.runs)];
  if (options.databaseUrl !== undefined) flags.push('--database-connections', String(databaseConnections));
  const cluster = await startCluster(path.join(folder, name), { ...options, flags });
  return { name, cluster, stop: cluster.stop, cpu: () => nodesCpu(cluster), work: (steps) => runsOf(cluster, steps, concurrency.clients) };
}

async function startDbos(folder, name, url, count) {
  const children = [];
  for (let number = 1; number <= count; number += 1) {
    const options = JSON.stringify({ url, connections: databaseConnections, executor: `bench-${number}` });
    const stdio = ['ignore', 'inherit', 'ignore', 'ipc'];
    const child = fork(dbosProgram, [options], { env: cleanEnvironment(folder), stdio });
    children.push(child);
    await messageOf(child);
  }
  const work = (steps) => async (runs) => {
    const count = Math.ceil(runs / children.length);
    const startedAt = performance.now();
    const answers = children.map(messageOf);
    for (const child of children) child.send({ steps, count, concurrency: concurrency.workflows });
    await Promise.all(answers);
    return ((performance.now() - startedAt) * runs) / (count * children.length);
  };
  const stop = async () => {
    for (const child of children) child.kill();
  };
  return { name, stop, cpu: () => children.reduce((sum, { pid }) => sum + processCpu(pid), 0), work: async (steps) => work(steps) };
}

/** The next message of a process. Throws if it ends instead. */
function messageOf(child) {
  return new Promise((resolve, reject) => {
    const end = (code) => reject(new Error(`A process of DBOS ended with ${code}.`));
    child.once('exit', end);
    child.once('message', (message) => {
      child.off('exit', end);
      resolve(message);
    });
  });
}

/** Measures all of them in turns. Returns the rate and the CPU time of each, by the number of steps. */
async function measureRuns(targets, postgres, { rounds, milliseconds }) {
  const cases = [];
  for (const target of targets)
    for (const steps of stepCounts) {
      const work = await target.work(steps);
      await work(trialRuns.first);
      const rate = trialRuns.second / (await work(trialRuns.second));
      cases.push({ target, steps, work, count: Math.max(20, Math.round(rate * milliseconds)), rates: [], cpu: [], databaseCpu: [] });
    }
  // Otherwise the plans of the first minute would be measured, which are those for empty tables.
  await postgres.analyze();
  for (let round = 0; round < rounds; round += 1)
    for (const each of round % 2 === 0 ? cases : [...cases].reverse()) {
      const [cpu, databaseCpu] = [each.target.cpu(), postgres.cpu()];
      each.rates.push((1_000 * each.count) / (await each.work(each.count)));
      each.cpu.push((each.target.cpu() - cpu) / each.count);
      each.databaseCpu.push((postgres.cpu() - databaseCpu) / each.count);
    }
  return cases.map(({ target, steps, rates, cpu, databaseCpu }) => ({
    name: target.name,
    steps,
    ...{ per_second: median(rates), lowest: Math.min(...rates), highest: Math.max(...rates) },
    ...{ cpu_ms: median(cpu), database_cpu_ms: median(databaseCpu) },
  }));
}

async function measureKeyed(targets, { rounds, milliseconds }) {
  const rates = new Map(targets.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round += 1)
    for (const { name, cluster } of targets) {
      const rate = await keyedWrites(cluster, milliseconds / 2, concurrency.clients);
      if (round >= 0) rates.get(name).push(rate);
    }
  return targets.map(({ name }) => ({ name, per_second: median(rates.get(name)) }));
}

async function measureReads(targets, { rounds, milliseconds }) {
  const times = new Map(targets.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const { name, cluster } of targets) times.get(name).push(await readsOfBusyTeam(cluster, milliseconds, busyClients));
  return targets.map(({ name }) => {
    const [idle_ms, busy_ms] = ['idle_ms', 'busy_ms'].map((key) => median(times.get(name).map((time) => time[key])));
    return {
      name,
      clients: busyClients,
      idle_ms,
      busy_ms,
      ratio: busy_ms / idle_ms,
      ...(name === names.sqlite ? {} : { goal: goals.busy }),
    };
  });
}

/** Relates the rates to those of DBOS, or without it returns them unchanged. */
function withRatios(results) {
  const rateOf = (name, steps) => results.find((result) => result.name === name && result.steps === steps)?.per_second;
  const add = (result, peer, goal) => {
    const rate = rateOf(peer, result.steps);
    return rate === undefined ? result : { ...result, peer, ratio: result.per_second / rate, ...(goal === undefined ? {} : { goal }) };
  };
  return results.map((result) => {
    if (result.name === names.sqlite) return add(result, names.dbos, goals.sqlite[result.steps]);
    if (result.name === names.nodes(1)) return add(result, names.dbos, goals.postgres[result.steps]);
    if (result.name === names.nodes(2)) return add(result, names.nodes(1), goals.twoNodes);
    return result.name === names.nodes(3) ? add(result, names.nodes(1)) : result;
  });
}

const names = {
  sqlite: 'aops, SQLite',
  nodes: (count) => `aops, ${count} ${count === 1 ? 'node' : 'nodes'}`,
  dbos: 'DBOS, 1 process',
  dbosTwo: 'DBOS, 2 processes',
};

async function measure(folder, options) {
  const postgres = await startPostgres(folder);
  const targets = [];
  try {
    for (const nodes of [1, 2, 3])
      targets.push(await startAops(folder, names.nodes(nodes), { databaseUrl: await postgres.create(`nodes_${nodes}`), nodes }));
    targets.push(await startAops(folder, names.sqlite, {}));
    const clusters = [...targets];
    if (dbosMissing === undefined)
      for (const [name, count] of [
        [names.dbos, 1],
        [names.dbosTwo, 2],
      ])
        targets.push(await startDbos(folder, name, await postgres.create(`dbos_${count}`), count));
    const runs = withRatios(await measureRuns(targets, postgres, options));
    const keyed = await measureKeyed(clusters, options);
    const reads = await measureReads(clusters, options);
    const takeover = options.takeover === 0 ? [] : await takeovers(clusters.slice(0, 3), options.takeover);
    return { database: postgres.version, ...(dbosMissing === undefined ? {} : { missing: dbosMissing }), runs, keyed, reads, takeover };
  } finally {
    for (const target of targets) await target.stop();
    await postgres.stop();
  }
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    milliseconds: { type: 'string', default: '1500' },
    takeover: { type: 'string', default: '8' },
    json: { type: 'boolean', default: false },
  },
});
const options = Object.fromEntries(['rounds', 'milliseconds', 'takeover'].map((name) => [name, Number(values[name])]));
for (const [name, value] of Object.entries(options))
  if (!Number.isInteger(value) || value < (name === 'takeover' ? 0 : 1)) throw new Error(`--${name} is a whole number.`);
const folder = await mkdtemp(path.join(tmpdir(), 'aops-nodes-bench-'));
try {
  const result = { ...options, ...(await measure(folder, options)), circumstances: circumstances(options.rounds) };
  printResult('nodes', result, values.json);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
