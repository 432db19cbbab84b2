#!/usr/bin/env node
/**
 * The speed of the service: requests a second of reading a run, of a list of 100,000 runs and of a change under an
 * idempotency key, each next to a bare node:http server that answers the same bytes, taking turns in one run. Then what lists
 * take when the table is small, runs completed a second, memory, and the time until the service is ready.
 * Besides the time by the clock it tells the CPU time that the two servers used for a request (Linux): on a busy machine
 * that is the figure to go by.
 *
 *   node bench/service.js [--rounds N] [--milliseconds N] [--runs N] [--connections N] [--only NAME] [--json]   (npm run bench builds first)
 *
 * Exits with 0 whether the goals are met or not; otherwise only when measuring failed.
 */
import { fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { LoadConnections } from './load.js';
import { circumstances, cleanEnvironment, median, processCpu, processMemory, startService, table } from './support.js';

const self = fileURLToPath(import.meta.url);
const fewRuns = 1_000;
const completedRuns = 300;
const startRounds = 7;
const goals = { read: 0.5, keyed: 0.2, flat: 1.25, idle: 120, ready: 500 };

/** Answers every request with what its first message says, after reading the body. */
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

/** A data directory whose first team has so many runs. They are copies of one that was really executed. */
async function seeded(folder, name, runs) {
  const env = cleanEnvironment(path.join(folder, name));
  const data = path.join(folder, name, 'data');
  const service = await startService(env, data, ['--rate-limit', '1000000']);
  try {
    const call = caller(service);
    const run = await oneRun(call, service.team);
    await service.stop();
    const { default: Libsql } = await import('libsql');
    const database = new Libsql(path.join(data, 'aops.db'));
    copyRun(database, run.id, runs);
    database.close();
    return { env, data, runId: run.id };
  } finally {
    await service.stop();
  }
}

function copyRun(database, id, runs) {
  const columns = database
    .prepare('pragma table_info(runs)')
    .all([])
    .map((column) => column.name);
  const changed = {
    id: "printf('%08x-0000-4000-8000-000000000000', n)",
    run_number: 'n',
    created_at: "strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-' || (? - n) || ' seconds')",
  };
  const values = columns.map((column) => changed[column] ?? column).join(', ');
  database.exec('begin');
  database
    .prepare(
      `insert into runs (${columns.join(', ')}) with recursive numbers (n) as (select 2 union all select n + 1 from numbers where n < ?) select ${values} from runs, numbers where id = ?`,
    )
    .run([runs, runs, id]);
  const tables = database.prepare("select name from sqlite_master where name = 'run_totals'").all([]);
  if (tables.length > 0) database.exec('update run_totals set runs = (select count(*) from runs)');
  database.exec('commit');
}

/** Calls the service as JSON over HTTP, and fails loudly. */
function caller({ url, token }) {
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

/** An agent with a procedure of one step, and a run of it that has ended. */
async function oneRun(call, team) {
  const agentId = await newAgent(call, team);
  const { run } = await call('POST', `/v2/teams/${team}/runs`, { agent_id: agentId, message: 'Invoices of today' });
  return ended(call, run.id);
}

async function newAgent(call, team) {
  const procedure = 'version: 1\nsteps:\n  - say: Done.\n';
  const data = { models: { agent: { model: 'script' }, browsing: { provider: 'anthropic', model: 'none' } }, input: procedure };
  const { agent } = await call('POST', `/v2/teams/${team}/agents`, {
    name: `Bench ${randomUUID()}`,
    build: { name: 'First', config: { version: 'v2', data } },
  });
  return agent.id;
}

async function ended(call, runId) {
  for (;;) {
    const { run } = await call('GET', `/v2/runs/${runId}`);
    if (run.status === 'completed') return run;
    if (['failed', 'interrupted'].includes(run.status)) throw new Error(`The run ended as ${run.status}: ${run.error}`);
  }
}

/** The request of a case as bytes; that of a keyed change differs each time. */
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

/** The answer of the service to a request, as a bare server is to give it. */
async function recorded(service, make) {
  const connections = await LoadConnections.open(service.url, 1);
  const text = (await connections.once(make())).toString('utf8');
  connections.close();
  const [head, body] = [text.slice(0, text.indexOf('\r\n\r\n')), text.slice(text.indexOf('\r\n\r\n') + 4)];
  const [first, ...lines] = head.split('\r\n');
  const left = new Set(['connection', 'keep-alive']);
  const headers = lines.map((line) => line.split(/: ?(.*)/s)).filter(([name]) => !left.has(name.toLowerCase()));
  const status = Number(first.split(' ')[1]);
  if (status >= 300) throw new Error(`The service answered ${status}: ${body}`);
  return { status, headers: Object.fromEntries(headers.map(([name, value]) => [name, value])), body };
}

/** Milliseconds for a request by the clock, and of the CPU of the process that answers. */
async function load(target, make, { milliseconds, connections }) {
  const opened = await LoadConnections.open(target.url, connections);
  const cpuBefore = processCpu(target.pid);
  const started = process.hrtime.bigint();
  const requests = await opened.run(make, { milliseconds });
  const wall = Number(process.hrtime.bigint() - started) / 1e6 / requests;
  const cpuAfter = processCpu(target.pid);
  opened.close();
  return { wall, cpu: cpuBefore === undefined ? undefined : (cpuAfter - cpuBefore) / requests };
}

/** Takes turns between the service and a bare server with the same answer. */
async function compare(service, test, options) {
  const make = requestBytes(test, service.token);
  const bare = fork(self, ['--bare'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  try {
    bare.send(await recorded(service, make));
    const [port] = await once(bare, 'message');
    const targets = { service, bare: { url: `http://127.0.0.1:${port}`, pid: bare.pid } };
    const results = { service: [], bare: [] };
    for (let round = -1; round < options.rounds; round += 1)
      for (const name of round % 2 === 0 ? ['bare', 'service'] : ['service', 'bare']) {
        const result = await load(targets[name], make, options);
        if (round >= 0) results[name].push(result);
      }
    return comparison(test, results);
  } finally {
    bare.kill();
  }
}

function comparison({ name, goal }, results) {
  const of = (who, field) => median(results[who].map((result) => result[field]));
  const figures = (who) => ({ per_second: 1_000 / of(who, 'wall'), cpu_us: 1_000 * (of(who, 'cpu') ?? Number.NaN) });
  const service = figures('service');
  const bare = figures('bare');
  const ratio = service.per_second / bare.per_second;
  return { name, service, bare, ratio, cpu_ratio: bare.cpu_us / service.cpu_us, goal };
}

/** Runs completed a second, from the first request to the end of the last run; its CPU milliseconds a run. */
async function completedPerSecond(service) {
  const call = caller(service);
  const agentId = await newAgent(call, service.team);
  const countOf = async (status) =>
    (await call('GET', `/v2/teams/${service.team}/runs?agent_id=${agentId}&count_only=true${status ? `&status=${status}` : ''}`)).total;
  const body = () => JSON.stringify({ agent_id: agentId });
  const make = requestBytes({ method: 'POST', pathname: `/v2/teams/${service.team}/runs`, body }, service.token);
  const cpu = processCpu(service.pid);
  const started = process.hrtime.bigint();
  const connections = await LoadConnections.open(service.url, 16);
  await connections.run(make, { limit: completedRuns });
  connections.close();
  while ((await countOf('completed')) < completedRuns) if ((await countOf('failed')) > 0) throw new Error('A run failed.');
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  return { per_second: completedRuns / seconds, cpu_ms: (processCpu(service.pid) - cpu) / completedRuns };
}

/** Milliseconds from starting the process until the service answers that it is ready; and those of bare Node that does nothing. */
async function startTimes(folder) {
  const ready = [];
  const bare = [];
  const env = cleanEnvironment(path.join(folder, 'start'));
  for (let round = -1; round < startRounds; round += 1) {
    const empty = process.hrtime.bigint();
    await once(spawn(process.execPath, ['-e', '0'], { env }), 'close');
    const bareTime = Number(process.hrtime.bigint() - empty) / 1e6;
    const began = process.hrtime.bigint();
    const service = await startService(env, path.join(folder, 'start', 'data'));
    const answer = await fetch(`${service.url}/healthz`);
    const time = Number(process.hrtime.bigint() - began) / 1e6;
    if (!answer.ok) throw new Error(`The service is not healthy: ${answer.status}`);
    await service.stop();
    if (round >= 0) ready.push(time) && bare.push(bareTime);
  }
  return { ready_ms: median(ready), bare_node_ms: median(bare), goal: goals.ready };
}

async function measure(folder, options) {
  const wants = (name) => options.only === undefined || options.only === name;
  const result = { requests: [] };
  if (wants('ready')) result.start = await startTimes(folder);
  const many = await seeded(folder, 'many', options.runs);
  const service = await startService(many.env, many.data, ['--rate-limit', '100000000']);
  try {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const idle = processMemory(service.pid);
    const list = `/v2/teams/${service.team}/runs`;
    let offset = 0;
    const nextPage = () => {
      offset = (offset + 20) % 2_000;
      return offset;
    };
    const cases = [
      { key: 'get', name: 'get a run', method: 'GET', pathname: `/v2/runs/${many.runId}`, goal: goals.read },
      { key: 'list', name: `list 20 of ${options.runs} runs`, method: 'GET', pathname: list, goal: goals.read },
      { key: 'page', name: '  the same, another page each time', method: 'GET', pathname: () => `${list}?limit=20&offset=${nextPage()}` },
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
    if (wants('flat')) result.flat = await flatness(folder, service, options);
    if (wants('runs')) result.runs = await completedPerSecond(service);
    result.memory = {
      idle_mib: idle?.now,
      loaded_mib: processMemory(service.pid)?.now,
      peak_mib: processMemory(service.pid)?.peak,
      goal: goals.idle,
    };
    return result;
  } finally {
    await service.stop();
  }
}

/** What lists take with many runs, against the same with few. */
async function flatness(folder, many, options) {
  const small = await seeded(folder, 'few', fewRuns);
  const few = await startService(small.env, small.data, ['--rate-limit', '100000000']);
  try {
    const results = [];
    for (const [name, query] of [
      ['all', '?limit=20'],
      ['of a status', '?status=completed'],
      ['of a source', '?source=api'],
      ['the oldest page', `?offset=${fewRuns - 20}`],
    ]) {
      const times = { few: [], many: [] };
      for (let round = -1; round < options.rounds; round += 1)
        for (const [key, service] of Object.entries({ few, many })) {
          // Another URL each time: a remembered answer takes the same time however many runs there are.
          let asked = 0;
          const pathname = () => `/v2/teams/${service.team}/runs${query}&asked=${asked++}`;
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
    await few.stop();
  }
}

const verdict = (met, goal) => `${goal} ${met ? 'met' : 'MISSED'}`;
const fixed = (value, digits = 0) => (value === undefined || Number.isNaN(value) ? '-' : value.toFixed(digits));

function report({ requests, flat = [], runs, start, memory }, options) {
  const parts = [];
  if (requests.length > 0) {
    const head = ['requests a second', 'bare', 'service', 'ratio', 'CPU bare', 'CPU service', 'CPU ratio', 'goal'];
    const rows = requests.map(({ name, bare, service, ratio, cpu_ratio, goal }) => [
      name,
      fixed(bare.per_second),
      fixed(service.per_second),
      `${fixed(ratio, 2)}x`,
      `${fixed(bare.cpu_us)} µs`,
      `${fixed(service.cpu_us)} µs`,
      `${fixed(cpu_ratio, 2)}x`,
      goal === undefined ? '' : verdict(ratio >= goal, `${goal}x`),
    ]);
    parts.push(table([head, ...rows]));
  }
  if (flat.length > 0) {
    const rows = flat.map(({ name, few_us, many_us, ratio, goal }) => [
      `list ${name}`,
      `${fixed(few_us)} µs`,
      `${fixed(many_us)} µs`,
      `${fixed(ratio, 2)}x`,
      verdict(ratio <= goal, `${goal}x`),
    ]);
    parts.push(table([['CPU of a list', `${fewRuns} runs`, `${options.runs} runs`, 'ratio', 'goal'], ...rows]));
  }
  const lines = [];
  if (runs) lines.push(`runs completed: ${fixed(runs.per_second)} a second, CPU ${fixed(runs.cpu_ms, 2)} ms each`);
  if (start)
    lines.push(
      `ready after ${fixed(start.ready_ms)} ms (bare Node ${fixed(start.bare_node_ms)} ms), goal ${verdict(start.ready_ms <= start.goal, `${start.goal} ms`)}`,
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
    connections: { type: 'string', default: '16' },
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
