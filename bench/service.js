#!/usr/bin/env node
/**
 * The speed of the service: requests per second for reading a run, a list of 100,000 runs, and a change with an
 * idempotency key, and runs completed per second. Each is compared with a bare node:http server that returns the same bytes,
 * alternating in one run. Each read is for a different run or page. Also measured: lists of a small table, the duration of one run,
 * memory, and the time until the service is ready.
 * In addition to the elapsed time it prints the CPU time that both servers used for a request (Linux), which is more reliable on a
 * busy machine.
 *
 *   node bench/service.js [--rounds N] [--milliseconds N] [--runs N] [--connections N] [--only NAME] [--json]   (npm run bench builds first)
 *
 * Names are ready, get, list, keyed, flat and runs. Exits with 0 whether the goals are met or not; otherwise only
 * if a measurement failed.
 */
import { fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { LoadConnections } from './load.js';
import { caller, newAgent, seedDatabase, untilEnded } from './seeded.js';
import { circumstances, cleanEnvironment, median, processCpu, processMemory, startService, table } from './support.js';

const self = fileURLToPath(import.meta.url);
const fewRuns = 1_000;
const completedRuns = 400;
/** Consecutive runs, and syncs of the disk. */
const single = 20;
const startRounds = 7;
const goals = { read: 0.5, keyed: 0.2, flat: 1.25, idle: 120, ready: 500 };

/** Answers every request with the content of its first message, after it has read the body. */
function serveBare() {
  process.once('message', ({ status, headers, body }) => {
    const server = http.createServer((request, response) => {
      response.sendDate = false;
      request.on('end', () => {
        response.writeHead(status, headers);
        response.end(body);
      });
      request.resume();
    });
    server.listen(0, '127.0.0.1', () => process.send(server.address().port));
  });
  process.once('disconnect', () => process.exit());
}

/** The request of a case as bytes; the request of a keyed change differs each time. */
function requestBytes({ method, pathname, body }, token) {
  const headTo = (to) => `${method} ${to} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
  if (typeof pathname === 'function') return () => `${headTo(pathname())}\r\n`;
  const head = headTo(pathname);
  if (body === undefined) {
    const bytes = Buffer.from(`${head}\r\n`);
    return () => bytes;
  }
  return () => {
    const text = body();
    return `${head}Content-Type: application/json\r\nIdempotency-Key: ${randomUUID()}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
  };
}

/** The service's response to a request, for the bare server to return. */
async function recordRequest(service, make) {
  const connections = await LoadConnections.open(service.url, 1);
  const text = (await connections.once(make())).toString('utf8');
  connections.close();
  const [head, body] = [text.slice(0, text.indexOf('\r\n\r\n')), text.slice(text.indexOf('\r\n\r\n') + 4)];
  const [first, ...lines] = head.split('\r\n');
  const excludedNames = new Set(['connection', 'keep-alive']);
  const headers = lines.map((line) => line.split(/: ?(.*)/s)).filter(([name]) => !excludedNames.has(name.toLowerCase()));
  const status = Number(first.split(' ')[1]);
  if (status >= 300) throw new Error(`The service answered ${status}: ${body}`);
  return { status, headers: Object.fromEntries(headers.map(([name, value]) => [name, value])), body };
}

const inTime = { run: (connections, make, milliseconds) => connections.run(make, { milliseconds }) };

/** Elapsed milliseconds for a request, and CPU milliseconds of the process that answers. */
async function load(target, make, { milliseconds, connections }, work = inTime) {
  const loadConnections = await LoadConnections.open(target.url, connections);
  const cpuBefore = processCpu(target.pid);
  const startedAt = process.hrtime.bigint();
  const requests = await work.run(loadConnections, make, milliseconds);
  const wall = Number(process.hrtime.bigint() - startedAt) / 1e6 / requests;
  const cpuAfter = processCpu(target.pid);
  loadConnections.close();
  return { wall, cpu: cpuBefore === undefined ? undefined : (cpuAfter - cpuBefore) / requests };
}

/** Alternates between the service and a bare server with the same response. */
async function compare(service, test, options) {
  const make = requestBytes(test, service.token);
  const bareProcess = fork(self, ['--bare'], { env: cleanEnvironment(tmpdir()), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    bareProcess.send(await recordRequest(service, make));
    const [port] = await once(bareProcess, 'message');
    const targets = { service, bare: { url: `http://127.0.0.1:${port}`, pid: bareProcess.pid } };
    const results = { service: [], bare: [] };
    for (let round = -1; round < options.rounds; round += 1)
      for (const name of round % 2 === 0 ? ['bare', 'service'] : ['service', 'bare']) {
        const result = await load(targets[name], make, options, name === 'service' ? options.ofService : undefined);
        if (round >= 0) results[name].push(result);
      }
    return comparison(test, results);
  } finally {
    bareProcess.kill();
  }
}

function comparison({ name, goal }, results) {
  const medianOf = (name, field) => median(results[name].map((result) => result[field]));
  const figures = (name) => ({ per_second: 1_000 / medianOf(name, 'wall'), cpu_us: 1_000 * (medianOf(name, 'cpu') ?? Number.NaN) });
  const service = figures('service');
  const bareFigures = figures('bare');
  const ratio = service.per_second / bareFigures.per_second;
  return { name, service, bare: bareFigures, ratio, cpu_ratio: bareFigures.cpu_us / service.cpu_us, goal };
}

/** Runs completed per second, from the first request to the end of the last run, compared with the same number of requests to a bare server. */
async function completedPerSecond(service, options) {
  const call = caller(service);
  const agentId = await newAgent(call, service.team);
  const list = `/v2/teams/${service.team}/runs`;
  const countOf = async (status) => (await call('GET', `${list}?agent_id=${agentId}&count_only=true&status=${status}`)).total;
  const test = { name: 'runs completed', method: 'POST', pathname: list, body: () => JSON.stringify({ agent_id: agentId }) };
  const runs = {
    async run(connections, make) {
      const before = await countOf('completed');
      const runCount = await connections.run(make, { limit: completedRuns });
      while ((await countOf('completed')) < before + runCount) if ((await countOf('failed')) > 0) throw new Error('A run failed.');
      return runCount;
    },
  };
  return compare(service, test, { ...options, ofService: runs });
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

async function measure(folder, options) {
  const wants = (name) => options.only === undefined || options.only === name;
  const result = { requests: [] };
  if (wants('ready')) result.start = await startTimes(folder);
  const largeSetup = await seedDatabase(folder, 'many', options.runs);
  const service = await startService(largeSetup.env, largeSetup.data, ['--rate-limit', '100000000']);
  try {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const idle = processMemory(service.pid);
    const list = `/v2/teams/${service.team}/runs`;
    // Another run or page each time.
    let requestCount = 0;
    const nextRun = () =>
      `/v2/runs/${(2 + (requestCount++ % Math.min(2_000, options.runs - 1))).toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
    const nextPage = () => `${list}?limit=20&offset=${(20 * requestCount++) % 2_000}`;
    const cases = [
      { key: 'get', name: 'get a run', method: 'GET', pathname: nextRun, goal: goals.read },
      { key: 'list', name: `list 20 of ${options.runs} runs`, method: 'GET', pathname: nextPage, goal: goals.read },
      {
        key: 'keyed',
        name: 'create an agent, keyed',
        method: 'POST',
        pathname: `/v2/teams/${service.team}/agents`,
        body: () => JSON.stringify({ name: `Agent ${randomUUID()}` }),
        goal: goals.keyed,
      },
    ];
    for (const test of cases) if (wants(test.key)) result.requests.push(await compare(service, test, options));
    if (wants('runs')) {
      result.requests.push(await completedPerSecond(service, options));
      result.single = await singleRun(service, folder);
    }
    result.memory = {
      idle_mib: idle?.now,
      loaded_mib: processMemory(service.pid)?.now,
      peak_mib: processMemory(service.pid)?.peak,
      goal: goals.idle,
    };
    if (wants('flat')) result.flat = await flatness(folder, { ...largeSetup, service }, options);
    return result;
  } finally {
    await service.stop();
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

const verdict = (met, goal) => `${goal} ${met ? 'met' : 'MISSED'}`;
const formatFixed = (value, digits = 0) => (value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits));

function report({ requests, flat = [], single: singleResult, start, memory }, options) {
  const parts = [];
  if (requests.length > 0) {
    const head = ['a second', 'bare', 'service', 'ratio', 'goal', 'CPU: bare', 'service', 'ratio'];
    const rows = requests.map(({ name, bare, service, ratio, cpu_ratio, goal }) => [
      name,
      formatFixed(bare.per_second),
      formatFixed(service.per_second),
      `${formatFixed(ratio, 2)}x`,
      goal === undefined ? '' : verdict(ratio >= goal, `${goal}x`),
      `${formatFixed(bare.cpu_us)} µs`,
      `${formatFixed(service.cpu_us)} µs`,
      `${formatFixed(cpu_ratio, 2)}x`,
    ]);
    parts.push(table([head, ...rows]));
  }
  if (flat.length > 0) {
    const rows = flat.map(({ name, few_us, many_us, ratio, goal }) => [
      `list ${name}`,
      `${formatFixed(few_us)} µs`,
      `${formatFixed(many_us)} µs`,
      `${formatFixed(ratio, 2)}x`,
      verdict(ratio <= goal, `${goal}x`),
    ]);
    parts.push(table([['CPU of a list', `${fewRuns} runs`, `${options.runs} runs`, 'ratio', 'goal'], ...rows]));
  }
  const lines = [];
  if (singleResult)
    lines.push(
      `one run alone: ${formatFixed(singleResult.run_ms, 1)} ms until it has ended; one sync of this disk: ${formatFixed(singleResult.sync_ms, 1)} ms`,
    );
  if (start)
    lines.push(
      `ready after ${formatFixed(start.ready_ms)} ms (bare Node ${formatFixed(start.bare_node_ms)} ms), goal ${verdict(start.ready_ms <= start.goal, `${start.goal} ms`)}`,
    );
  const { idle_mib, loaded_mib, peak_mib, goal } = memory;
  if (idle_mib !== undefined)
    lines.push(
      `memory: idle ${idle_mib} MiB, goal ${verdict(idle_mib <= goal, `${goal} MiB`)}; after the load ${loaded_mib} MiB, at most ${peak_mib} MiB`,
    );
  parts.push(lines.join('\n'));
  return `${parts.filter((part) => part !== '').join('\n\n')}\n\n${circumstances(options.rounds)}, ${options.connections} connections, ${options.milliseconds} ms each\n`;
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    milliseconds: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '100000' },
    connections: { type: 'string', default: '64' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    bare: { type: 'boolean', default: false },
  },
});
if (values.bare) serveBare();
else {
  const numbers = ['rounds', 'milliseconds', 'runs', 'connections'].map((name) => [name, Number(values[name])]);
  for (const [name, value] of numbers) if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is a whole number from 1 on.`);
  const options = { ...Object.fromEntries(numbers), only: values.only };
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-service-bench-'));
  try {
    const result = await measure(folder, options);
    process.stdout.write(values.json ? `${JSON.stringify({ ...options, ...result }, null, 2)}\n` : report(result, options));
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
