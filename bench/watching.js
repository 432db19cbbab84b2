#!/usr/bin/env node
/**
 * How long it takes from writing a message until `aops runs watch` prints it: on loopback, with the event stream, and with polling through
 * a proxy that does not offer streams. A run sends two messages a second, irregularly. The measured time is between the message's timestamp,
 * which the service sets when it writes the message, and its line on the standard output of the other process.
 *
 *   node bench/watching.js [--messages N] [--pause MS] [--watchers N] [--json]   (npm run bench builds first)
 *
 * Exits with 0 whether the goals are met or not; otherwise only if a measurement failed.
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
import { circumstances, cleanEnvironment, launcher, median, startService } from './support.js';

/** Goals, in milliseconds at the median. */
const goals = { streamed: 20, polled: 300 };
/** Number of first messages that do not count, because the watching process is still starting. */
const warmUpRounds = 4;

/** Forwards everything except event streams, like a service without them. */
async function withoutStreams(target) {
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer((request, response) => {
    if (request.url.split('?')[0].endsWith('/events')) {
      response.writeHead(404).end();
      return;
    }
    const upstreamRequest = http.request(
      `${target}${request.url}`,
      { method: request.method, headers: request.headers, agent },
      (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      },
    );
    upstreamRequest.once('error', () => response.destroy());
    request.pipe(upstreamRequest);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() && agent.destroy() };
}

/** For each message, milliseconds from written to printed. */
async function delays(env, url, service, run) {
  const child = spawn(process.execPath, [launcher, 'runs', 'watch', run, '-o', 'ndjson'], {
    env: { ...env, AOPS_BASE_URL: url, AOPS_API_KEY: service.token, AOPS_TEAM_ID: service.team },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'close');
  const measuredDelays = [];
  let remainder = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    const now = Date.now();
    const lines = (remainder + chunk).split('\n');
    remainder = lines.pop();
    for (const line of lines) {
      const { type, data } = JSON.parse(line);
      if (type === 'message') measuredDelays.push(now - Date.parse(data.message.timestamp));
    }
  }
  const [code] = await exit;
  if (code !== 0) throw new Error(`aops runs watch ended with ${code}.`);
  return measuredDelays.slice(warmUpRounds);
}

const percentile = (values, part) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))];

/**
 * Pauses from half to one and a half times this one, evenly distributed. If all of them were equal, polls would find messages at the same
 * few points between two polls again and again, and the median would be one of these by chance.
 */
const irregular = (pause, index) => Math.round(pause * (0.5 + ((index * Math.sqrt(5)) % 1)));

async function measure(folder, { messages, pause, watchers }) {
  const env = cleanEnvironment(path.join(folder, 'home'));
  const service = await startService(env, path.join(folder, 'data'));
  const proxy = await withoutStreams(service.url);
  try {
    const call = caller(service);
    const steps = Array.from(
      { length: messages + warmUpRounds },
      (_, index) => `  - say: "m${index}"\n  - sleep: ${irregular(pause, index)}ms\n`,
    );
    const agentId = await newAgent(call, service.team, `version: 1\nsteps:\n${steps.join('')}`);
    const results = {};
    for (const [way, url] of Object.entries({ streamed: service.url, polled: proxy.url })) {
      const { run } = await call('POST', `/v2/teams/${service.team}/runs`, { agent_id: agentId });
      const allDelays = (await Promise.all(Array.from({ length: watchers }, () => delays(env, url, service, run.id)))).flat();
      results[way] = {
        p50_ms: median(allDelays),
        p90_ms: percentile(allDelays, 0.9),
        max_ms: Math.max(...allDelays),
        messages: allDelays.length,
        goal: goals[way],
      };
    }
    return results;
  } finally {
    proxy.close();
    await service.stop();
  }
}

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '20' },
    pause: { type: 'string', default: '500' },
    watchers: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});
const numbers = ['messages', 'pause', 'watchers'].map((name) => [name, Number(values[name])]);
for (const [name, value] of numbers) if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is a whole number from 1 on.`);
const folder = await mkdtemp(path.join(tmpdir(), 'aops-watching-bench-'));
try {
  const results = await measure(folder, Object.fromEntries(numbers));
  printResult('watching', { results, circumstances: circumstances(1) }, values.json);
} finally {
  await rm(folder, { recursive: true, force: true });
}
