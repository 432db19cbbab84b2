#!/usr/bin/env node
/**
 * What the service adds to a run of an agent of the Agent Client Protocol, and what a run that waits for a person costs.
 *
 * - A turn, from the start of the agent's process to the end of its prompt, compared with the same agent and a client that only reads its
 *   messages. Both alternate. The agent (bench/agent.js) is as slow as one with a model; the turn of an agent that does nothing
 *   shows how much time the service adds to each run, and a contained one how much containment adds.
 * - The memory of the service for each run that waits, after the processes of the agents have been ended and garbage was collected: the
 *   growth of the heap of JavaScript with its buffers, or that of the resident memory, whichever is larger. This is an upper bound:
 *   it includes compiled code, caches, and memory that the allocator retains, which do not grow with the number of runs.
 *
 *   node bench/agents.js [--rounds N] [--milliseconds N] [--updates N] [--waiting N] [--only turn|waiting] [--json]   (npm run bench builds first)
 *
 * Exits with 0 whether the goals are met or not; otherwise only if a measurement failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printResult } from './reports.js';
import { caller, newAgent } from './seeded.js';
import { circumstances, cleanEnvironment, median, processMemory, startService } from './support.js';

const agentFile = fileURLToPath(new URL('agent.js', import.meta.url));
/** Goals: the duration of a turn relative to the bare agent, and MiB for a run that waits. */
const goals = { turn: 1.05, waiting: 1 };
/** How long the processes of waiting agents may take to end, in milliseconds. The service keeps them for 3 minutes. */
const idleLimit = 240_000;
/** Options of Node with which the service collects garbage and writes the size of its heap to a file when it receives SIGUSR2. */
const reporting = (file) => {
  const code = `import { writeFileSync } from 'node:fs';
    process.on('SIGUSR2', () => {
      gc();
      const { heapUsed, external } = process.memoryUsage();
      writeFileSync(${JSON.stringify(file)}, String(heapUsed + external));
    });`;
  return ['--expose-gc', '--import', `data:text/javascript,${encodeURIComponent(code)}`];
};

const command = (...args) => [process.execPath, agentFile, ...args.map(String)];
const definition = (...args) => JSON.stringify({ version: 1, command: command(...args) });

/** Milliseconds of a turn with a client that only reads the messages. */
async function bareTurn(folder, args) {
  const startedAt = performance.now();
  const [program, ...rest] = command(...args);
  const child = spawn(program, rest, { cwd: folder, env: cleanEnvironment(folder), stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'close');
  const responses = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, result } = JSON.parse(line);
    responses.get(id)?.(result);
  });
  let requests = 0;
  const request = (method, params) => {
    const id = ++requests;
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve) => responses.set(id, resolve));
  };
  await request('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await request('session/new', { cwd: folder, mcpServers: [] });
  await request('session/prompt', { sessionId, prompt: [{ type: 'text', text: 'Begin.' }] });
  const duration = performance.now() - startedAt;
  child.stdin.end();
  await exit;
  return duration;
}

/** Resolves when a run has a status. Throws if it has ended with another one. */
async function untilStatus({ call, url, token }, id, status) {
  const closing = new AbortController();
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
  const response = await fetch(`${url}/v2/runs/${id}/events`, { headers, signal: closing.signal });
  if (!response.ok) throw new Error(`The event stream was answered ${response.status}.`);
  const events = response.body[Symbol.asyncIterator]();
  try {
    // Each change of the run is an event, so the status does not have to be requested at intervals, which would be work for the service.
    for (;;) {
      const { run } = await call('GET', `/v2/runs/${id}`);
      if (run.status === status) return;
      if (['completed', 'failed', 'interrupted'].includes(run.status)) throw new Error(`The run is ${run.status}: ${run.error}`);
      if ((await events.next()).done) throw new Error('The event stream ended.');
    }
  } finally {
    closing.abort();
  }
}

/** Milliseconds from the request for a run to its end. */
async function serviceTurn(service) {
  const { call, team, agentId } = service;
  const startedAt = performance.now();
  const { run } = await call('POST', `/v2/teams/${team}/runs`, { agent_id: agentId, message: 'Begin.' });
  await untilStatus(service, run.id, 'completed');
  return performance.now() - startedAt;
}

/** A service with an agent, which is contained or not; undefined if this machine cannot contain it. */
async function target(folder, exec, args) {
  const env = cleanEnvironment(path.join(folder, exec));
  const service = await startService(env, path.join(folder, exec, 'data'), ['--exec', exec, '--rate-limit', '1000000']).catch((error) => {
    if (exec === 'contained') return undefined;
    throw error;
  });
  if (service === undefined) return undefined;
  const call = caller(service);
  return { ...service, call, agentId: await newAgent(call, service.team, definition(...args), 'acp') };
}

/** The medians of turns of the bare agent and of services, in alternation. */
async function turns(folder, name, args, { rounds }, goal) {
  const services = {};
  for (const exec of ['host', 'contained']) services[exec] = await target(path.join(folder, name), exec, args);
  const present = Object.entries(services).filter(([, service]) => service !== undefined);
  const times = { bare: [], host: [], contained: [] };
  try {
    for (let round = -1; round < rounds; round += 1) {
      const measured = [['bare', await bareTurn(folder, args)]];
      for (const [exec, service] of present) measured.push([exec, await serviceTurn(service)]);
      // The first round warms up.
      if (round >= 0) for (const [key, duration] of measured) times[key].push(duration);
    }
  } finally {
    for (const [, { stop }] of present) await stop();
  }
  const [bare, host] = [median(times.bare), median(times.host)];
  const contained = times.contained.length === 0 ? undefined : median(times.contained);
  return { name, bare_ms: bare, host_ms: host, contained_ms: contained, ratio: host / bare, goal };
}

/** The number of agents that a process has started, directly and indirectly. Its other processes stay as long as it does. */
async function agentsOf(pid) {
  const parents = new Map();
  for (const name of await readdir('/proc'))
    if (/^\d+$/.test(name)) {
      const stat = await readFile(`/proc/${name}/stat`, 'latin1').catch(() => undefined);
      const [state, parent] = stat?.slice(stat.lastIndexOf(') ') + 2).split(' ') ?? ['Z'];
      if (state !== 'Z') parents.set(Number(name), Number(parent));
    }
  const isBelow = (id) => id !== undefined && (parents.get(id) === pid || isBelow(parents.get(id)));
  const commands = [...parents.keys()].filter(isBelow).map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => ''));
  return (await Promise.all(commands)).filter((command) => command.includes(agentFile)).length;
}

/** Memory of a process in MiB, without garbage. @param file where the process writes the size of its heap */
async function memoryOf(pid, file) {
  await rm(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  for (;;) {
    const heap = await readFile(file, 'utf8').catch(() => '');
    if (heap !== '') return { heap: Number(heap) / 1_048_576, resident: processMemory(pid).now };
    await setTimeout(100);
  }
}

/** The memory for each waiting run. One run has been answered before, so that the modules are loaded. */
async function waitingRuns(folder, { waiting }) {
  const env = cleanEnvironment(path.join(folder, 'waiting'));
  const file = path.join(folder, 'heap');
  const flags = ['--exec', 'host', '--rate-limit', '1000000'];
  const service = await startService(env, path.join(folder, 'waiting', 'data'), flags, reporting(file));
  try {
    const call = caller(service);
    const agentId = await newAgent(call, service.team, definition('ask'), 'acp');
    const begin = async () => {
      const { run } = await call('POST', `/v2/teams/${service.team}/runs`, { agent_id: agentId, message: 'Begin.' });
      await untilStatus({ ...service, call }, run.id, 'waiting');
      return run.id;
    };
    const first = await begin();
    const { pending_human_request: request } = await call('GET', `/v2/runs/${first}`);
    await call('POST', `/v2/runs/${first}/human-requests/${request.id}/respond`, { approved: true });
    await untilStatus({ ...service, call }, first, 'completed');
    while ((await agentsOf(service.pid)) > 0) await setTimeout(100);
    const before = await memoryOf(service.pid, file);
    for (let index = 0; index < waiting; index += 1) await begin();
    const withProcesses = await agentsOf(service.pid);
    const startedAt = performance.now();
    while ((await agentsOf(service.pid)) > 0 && performance.now() - startedAt < idleLimit) await setTimeout(1_000);
    const after = await memoryOf(service.pid, file);
    const processes = await agentsOf(service.pid);
    return {
      ...{ runs: waiting, before_mib: before, after_mib: after },
      mib_per_run: Math.max(after.heap - before.heap, after.resident - before.resident, 0) / waiting,
      ...{ processes_at_first: withProcesses, processes, goal: goals.waiting },
    };
  } finally {
    await service.stop();
  }
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    milliseconds: { type: 'string', default: '3000' },
    updates: { type: 'string', default: '200' },
    waiting: { type: 'string', default: '100' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const numbers = ['rounds', 'milliseconds', 'updates', 'waiting'].map((name) => [name, Number(values[name])]);
for (const [name, value] of numbers) if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is a whole number from 1 on.`);
const options = Object.fromEntries(numbers);
const wants = (name) => values.only === undefined || values.only === name;
const folder = await mkdtemp(path.join(tmpdir(), 'aops-agents-bench-'));
try {
  const result = {};
  if (wants('turn')) {
    const work = `${options.milliseconds / 1_000} s of work, ${options.updates} updates`;
    result.turns = [
      await turns(folder, work, [options.milliseconds, options.updates], options, goals.turn),
      await turns(folder, 'no work', [0, 0], options),
    ];
  }
  if (wants('waiting') && process.platform === 'linux') result.waiting = await waitingRuns(folder, options);
  const whole = { ...options, ...result, circumstances: circumstances(options.rounds) };
  // As JSON, they are one object; as text, each is a report.
  for (const name of values.json ? [Object.keys(result)[0]] : Object.keys(result)) printResult(name, whole, values.json);
} finally {
  await rm(folder, { recursive: true, force: true });
}
