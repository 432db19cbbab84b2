#!/usr/bin/env node
/**
 * What one `aops runs watch` of many runs costs: CPU time as a share of a core, memory, and requests, and how long it takes from writing
 * a message until it is printed. All runs but one wait for a person; that one sends a message every half second.
 *
 *   node bench/watching-many.js [--runs 1,100,1000] [--seconds N] [--json]   (npm run bench builds first)
 *
 * Exits with 0 whether the goal is met or not; otherwise only if a measurement failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { printResult } from './reports.js';
import { caller, newAgent } from './seeded.js';
import { circumstances, cleanEnvironment, launcher, median, processCpu, processMemory, startService } from './support.js';

/** The goal: at most this share of a core, for 1,000 runs. */
const goalShare = 0.05;
/** Seconds after the start that do not count, in which the runs are read for the first time. */
const warmUpSeconds = 5;

/** Forwards everything, counts requests, and if wanted refuses event streams, like a service without them. */
async function countingProxy(target, hasStreams) {
  const agent = new http.Agent({ keepAlive: true });
  const proxy = { requests: 0, close: () => server.close() && agent.destroy() };
  const server = http.createServer((request, response) => {
    proxy.requests += 1;
    if (!hasStreams && request.url.split('?')[0].endsWith('/events')) {
      response.writeHead(404).end();
      return;
    }
    const onward = http.request(`${target}${request.url}`, { method: request.method, headers: request.headers, agent }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
    });
    onward.once('error', () => response.destroy());
    response.once('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(proxy, { url: `http://127.0.0.1:${server.address().port}` });
}

/** Watches all runs for some seconds. */
async function watchAll(env, service, hasStreams, seconds) {
  const proxy = await countingProxy(service.url, hasStreams);
  const child = spawn(process.execPath, [launcher, 'runs', 'watch', '--all', '--on-request', 'wait', '-o', 'ndjson'], {
    env: { ...env, AOPS_BASE_URL: proxy.url, AOPS_API_KEY: service.token, AOPS_TEAM_ID: service.team },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exit = once(child, 'close');
  const delays = [];
  let isWarm = false;
  let remainder = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    const now = Date.now();
    const lines = (remainder + chunk).split('\n');
    remainder = lines.pop();
    for (const line of lines) {
      if (!isWarm || !line.includes('"type":"message"')) continue;
      delays.push(now - Date.parse(JSON.parse(line).data.message.timestamp));
    }
  });
  await new Promise((resolve) => setTimeout(resolve, warmUpSeconds * 1_000));
  isWarm = true;
  const [cpu, requests] = [processCpu(child.pid), proxy.requests];
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  const result = {
    cpu_share: (processCpu(child.pid) - cpu) / 1_000 / seconds,
    memory_mib: processMemory(child.pid)?.peak,
    requests_per_minute: ((proxy.requests - requests) / seconds) * 60,
    delay_p50_ms: delays.length === 0 ? null : median(delays),
  };
  child.kill('SIGINT');
  await exit;
  proxy.close();
  return result;
}

async function measure(folder, counts, seconds) {
  const env = cleanEnvironment(path.join(folder, 'home'));
  const service = await startService(env, path.join(folder, 'data'), ['--rate-limit', '1000000']);
  try {
    const call = caller(service);
    const start = (agent_id) => call('POST', `/v2/teams/${service.team}/runs`, { agent_id });
    const waiting = await newAgent(call, service.team, 'version: 1\nsteps:\n  - approve: { id: go, title: "Go on?" }\n');
    const says = Array.from({ length: 490 }, (_, index) => `  - say: "m${index}"\n  - sleep: 500ms\n`).join('');
    const talking = await newAgent(call, service.team, `version: 1\nsteps:\n${says}`);
    const results = {};
    let started = 0;
    for (const count of counts) {
      for (; started < count - 1; started += 1) await start(waiting);
      for (const [way, hasStreams] of Object.entries({ streamed: true, polled: false })) {
        const { run } = await start(talking);
        results[`${count} runs, ${way}`] = await watchAll(env, service, hasStreams, seconds);
        await call('POST', `/v2/runs/${run.id}/stop`);
      }
    }
    return results;
  } finally {
    await service.stop();
  }
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1,100,1000' },
    seconds: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
});
const folder = await mkdtemp(path.join(tmpdir(), 'aops-watching-many-bench-'));
try {
  const results = await measure(folder, values.runs.split(',').map(Number), Number(values.seconds));
  printResult('watching-many', { results, goal_share: goalShare, circumstances: circumstances(1) }, values.json);
} finally {
  await rm(folder, { recursive: true, force: true });
}
