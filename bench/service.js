#!/usr/bin/env node
/**
 * What the service needs for a request: to read a run, a page of 100,000 runs, and to create an agent with an idempotency key; and
 * for a run from its start to its end. Each read is for a different run or page. Each is compared with a server that does only what is
 * indispensable (floor.js): the same statements on the same tables, committed and synced in the same way. Goals are for the CPU time in
 * relation to that floor, because it is more reliable than the elapsed time on a busy machine. Also measured: lists of a small table,
 * the duration of one run, memory, and the time until the service is ready.
 *
 *   node bench/service.js [--rounds N] [--milliseconds N] [--runs N] [--connections N] [--only NAME] [--json]   (npm run bench builds first)
 *
 * Names are ready, get, list, keyed, flat and runs. Exits with 0 whether the goals are met or not; otherwise only
 * if a measurement failed.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compare, load, recordResponse, requestBytes, startFloor } from './comparison.js';
import { printResult } from './reports.js';
import { caller, newAgent, seedDatabase, untilEnded } from './seeded.js';
import { circumstances, cleanEnvironment, median, processMemory, startService } from './support.js';

const fewRuns = 1_000;
/** Runs in a round. With a few hundred, much of the time would pass in compiling the code of the service. */
const completedRuns = 1_500;
/** Milliseconds between two questions of how many runs have ended. */
const pause = 20;
/** Consecutive runs, and syncs of the disk. */
const single = 20;
const startRounds = 7;
/** Pages that are read without a server. */
const lonePages = 1_000;
/** Of the CPU time in relation to the floor; MiB; milliseconds. */
const goals = { get: 1.25, list: 2, keyed: 1.5, run: 3, flat: 1.25, idle: 120, ready: 500 };

/**
 * Runs that were started and have ended. The service and the floor are asked how many have ended every few milliseconds: asking without
 * a pause would be part of the measurement.
 */
function completedRunsCase({ team, agentId, call }) {
  const list = `/v2/teams/${team}/runs`;
  const countOf = async ({ url, ask }, status) => {
    if (ask === undefined) return (await call('GET', `${list}?agent_id=${agentId}&count_only=true&status=${status}`)).total;
    return status === 'completed' ? Number(await (await fetch(`${url}/completed`)).text()) : 0;
  };
  const work = async (connections, make, _, target) => {
    const [before, failed] = [await countOf(target, 'completed'), await countOf(target, 'failed')];
    const runCount = await connections.run(make, { limit: completedRuns });
    while ((await countOf(target, 'completed')) < before + runCount) {
      if ((await countOf(target, 'failed')) > failed) throw new Error('A run failed.');
      await setTimeout(pause);
    }
    return runCount;
  };
  const body = () => JSON.stringify({ agent_id: agentId });
  return { key: 'runs', name: 'complete a run of one step', method: 'POST', pathname: list, body, goal: goals.run, work };
}

/** Milliseconds from the request for one run to its end, and for one sync of the disk that contains the data. */
async function singleRun(service, folder) {
  const call = caller(service);
  const agentId = await newAgent(call, service.team);
  const [runs, syncs] = [[], []];
  const file = await open(path.join(folder, 'sync'), 'w');
  for (let round = -1; round < single; round += 1) {
    const startedAt = performance.now();
    const { run } = await call('POST', `/v2/teams/${service.team}/runs`, { agent_id: agentId });
    await untilEnded(call, run.id);
    const middle = performance.now();
    await file.write(Buffer.alloc(4_096));
    await file.datasync();
    if (round >= 0) runs.push(middle - startedAt) && syncs.push(performance.now() - middle);
  }
  await file.close();
  return { run_ms: median(runs), sync_ms: median(syncs) };
}

/** Milliseconds from the start of the process until the service is ready, and for bare Node that does nothing. */
async function startTimes(folder) {
  const ready = [];
  const bareResults = [];
  const env = cleanEnvironment(path.join(folder, 'start'));
  for (let round = -1; round < startRounds; round += 1) {
    const startTime = process.hrtime.bigint();
    await once(spawn(process.execPath, ['-e', '0'], { env }), 'close');
    const bareTime = Number(process.hrtime.bigint() - startTime) / 1e6;
    const startedAt = process.hrtime.bigint();
    const service = await startService(env, path.join(folder, 'start', 'data'));
    const answer = await fetch(`${service.url}/healthz`);
    const time = Number(process.hrtime.bigint() - startedAt) / 1e6;
    if (!answer.ok) throw new Error(`The service is not healthy: ${answer.status}`);
    await service.stop();
    if (round >= 0) ready.push(time) && bareResults.push(bareTime);
  }
  return { ready_ms: median(ready), bare_node_ms: median(bareResults), goal: goals.ready };
}

/** The requests to compare. */
function requestCases({ team, runs, agentId, call }) {
  const list = `/v2/teams/${team}/runs`;
  // Another run or page each time.
  let requestCount = 0;
  const nextRun = () =>
    `/v2/runs/${(2 + (requestCount++ % Math.min(2_000, runs - 1))).toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
  const nextPage = () => `${list}?limit=20&offset=${(20 * requestCount++) % 2_000}`;
  const newName = () => JSON.stringify({ name: `Agent ${randomUUID()}` });
  return [
    { key: 'get', name: 'get a run', method: 'GET', pathname: nextRun, goal: goals.get },
    { key: 'list', name: `list 20 of ${runs} runs`, method: 'GET', pathname: nextPage },
    {
      key: 'keyed',
      name: 'create an agent, keyed',
      method: 'POST',
      pathname: `/v2/teams/${team}/agents`,
      body: newName,
      goal: goals.keyed,
    },
    completedRunsCase({ team, agentId, call }),
  ];
}

async function measure(folder, options) {
  const wants = (name) => options.only === undefined || options.only === name;
  const result = { requests: [] };
  if (wants('ready')) result.start = await startTimes(folder);
  const setup = await seedDatabase(folder, 'many', options.runs);
  const floorFile = path.join(folder, 'floor.db');
  await copyFile(path.join(setup.data, 'aops.db'), floorFile);
  const service = await startService(setup.env, setup.data, ['--rate-limit', '100000000']);
  try {
    await setTimeout(1_000);
    const idle = processMemory(service.pid);
    const cases = requestCases({ team: service.team, runs: options.runs, agentId: setup.agentId, call: caller(service) });
    const chosenCases = cases.filter(({ key }) => wants(key));
    if (chosenCases.length > 0) await compareAll(service, floorFile, chosenCases, options, result);
    if (wants('runs')) result.single = await singleRun(service, folder);
    result.memory = {
      idle_mib: idle?.now,
      loaded_mib: processMemory(service.pid)?.now,
      peak_mib: processMemory(service.pid)?.peak,
      goal: goals.idle,
    };
    if (wants('flat')) result.flat = await flatness(folder, { ...setup, service }, options);
    return result;
  } finally {
    await service.stop();
  }
}

/** Compares the cases, and for the list also its statements alone. */
async function compareAll(service, file, cases, options, result) {
  const { headers } = await recordResponse(
    service,
    requestBytes({ method: 'GET', pathname: `/v2/teams/${service.team}/runs` }, service.token),
  );
  const floor = await startFloor({ file, headers });
  try {
    for (const test of cases) result.requests.push(await compare({ service, floor }, test, options));
    const list = result.requests[cases.findIndex(({ key }) => key === 'list')];
    if (list === undefined) return;
    const times = [];
    for (let round = -1; round < options.rounds; round += 1) {
      const { cpu } = await floor.ask({ pages: lonePages });
      if (round >= 0) times.push(cpu / lonePages);
    }
    const sql_us = 1_000 * median(times);
    result.page = { sql_us, service_us: list.service.cpu_us, ratio: list.service.cpu_us / sql_us, goal: goals.list };
  } finally {
    floor.stop();
  }
}

/** The cost of lists with many runs, compared with few. */
async function flatness(folder, largeSetup, options) {
  const smallSetup = await seedDatabase(folder, 'few', fewRuns);
  const smallTarget = { ...smallSetup, service: await startService(smallSetup.env, smallSetup.data, ['--rate-limit', '100000000']) };
  try {
    const results = [];
    for (const [name, query] of [
      ['all', () => '?limit=20'],
      ['of a status', () => '?status=completed'],
      ['of a source', () => '?source=api'],
      ['of an agent', ({ agentId }) => `?agent_id=${agentId}`],
      ['the oldest first', () => '?sort_order=asc'],
      ['page 50', () => `?offset=${fewRuns - 20}`],
    ]) {
      const times = { few: [], many: [] };
      for (let round = -1; round < options.rounds; round += 1)
        for (const [key, { service, ...data }] of Object.entries({ few: smallTarget, many: largeSetup })) {
          const pathname = `/v2/teams/${service.team}/runs${query(data)}`;
          const make = requestBytes({ method: 'GET', pathname }, service.token);
          const { cpu, wall } = await load(service, make, options);
          if (round >= 0) times[key].push(cpu ?? wall);
        }
      results.push({
        name,
        few_us: 1_000 * median(times.few),
        many_us: 1_000 * median(times.many),
        ratio: median(times.many) / median(times.few),
        goal: goals.flat,
      });
    }
    return results;
  } finally {
    await smallTarget.service.stop();
  }
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    milliseconds: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '100000' },
    connections: { type: 'string', default: '64' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const numbers = ['rounds', 'milliseconds', 'runs', 'connections'].map((name) => [name, Number(values[name])]);
for (const [name, value] of numbers) if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is a whole number from 1 on.`);
const options = { ...Object.fromEntries(numbers), only: values.only };
const folder = await mkdtemp(path.join(tmpdir(), 'aops-service-bench-'));
try {
  const connections = `${options.connections} connections, ${options.milliseconds} ms each`;
  const measured = await measure(folder, options);
  const result = { ...options, few_runs: fewRuns, ...measured, circumstances: `${circumstances(options.rounds)}, ${connections}` };
  printResult('service', result, values.json);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
