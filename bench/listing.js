#!/usr/bin/env node
/**
 * Listing 100,000 runs with `aops runs list --all -o ndjson`, next to a bare loop over undici that reads the same pages
 * and prints the same rows, alternating in one run; and its peak memory compared with listing 1,000. A server in a separate
 * process answers both from memory.
 *
 *   node bench/listing.js [--rounds N] [--runs N] [--json]        (npm run bench builds first)
 *
 * Exits with 0 whether the goals are met or not; otherwise only if a measurement failed.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { printResult } from './reports.js';
import { circumstances, cleanEnvironment, launcher, median, runMeasured } from './support.js';

const self = fileURLToPath(import.meta.url);
const pageSize = 100;
const fewRuns = 1_000;

const row = (index) => ({
  id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  agent_id: '00000000-0000-4000-8000-aaaaaaaaaaaa',
  agent_name: 'invoice-check',
  build_id: '00000000-0000-4000-8000-bbbbbbbbbbbb',
  status: 'completed',
  source: 'api',
  title: `Invoices of day ${index}`,
  run_number: index,
  started_at: '2026-11-20T08:00:00.000Z',
  completed_at: '2026-11-20T08:00:02.000Z',
  created_at: '2026-11-20T08:00:00.000Z',
  updated_at: '2026-11-20T08:00:02.000Z',
  sandbox_id: '00000000-0000-4000-8000-cccccccccccc',
  human_in_the_loop_enabled: true,
  pending_human_request: null,
  submitted_prompt_count: 1,
});

/** Answers list requests for a team called `many` (all runs) or `few`. Prints its port. */
function serve(runs) {
  const pages = new Map();
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const total = url.pathname.includes('/few/') ? fewRuns : runs;
    const offset = Number(url.searchParams.get('offset') ?? 0);
    const limit = Number(url.searchParams.get('limit') ?? 20);
    const key = `${total} ${offset} ${limit}`;
    if (!pages.has(key)) {
      const data = Array.from({ length: Math.max(0, Math.min(limit, total - offset)) }, (_, index) => row(offset + index));
      pages.set(key, Buffer.from(JSON.stringify({ data, total })));
    }
    const body = pages.get(key);
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': body.length,
      'ratelimit-limit': 1_000_000,
      'ratelimit-remaining': 999_999,
      'ratelimit-reset': Math.floor(Date.now() / 1_000) + 60,
      'x-request-id': randomUUID(),
    });
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
}

/** The floor: undici, a loop, and JSON both ways. */
async function bareLoop(baseUrl, team) {
  const { Agent, request } = await import('undici');
  const dispatcher = new Agent({ connections: 1 });
  let readBytes = 0;
  for (;;) {
    const url = `${baseUrl}/v2/teams/${team}/runs?limit=${pageSize}&offset=${readBytes}`;
    const { body } = await request(url, { dispatcher, headers: { authorization: 'Bearer bench' } });
    const { data, total } = await body.json();
    let text = '';
    for (const item of data) text += `${JSON.stringify(item)}\n`;
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
    readBytes += data.length;
    if (data.length === 0 || readBytes >= total) break;
  }
  await dispatcher.close();
}

async function measure({ rounds, runs }) {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-listing-'));
  const server = spawn(process.execPath, [self, '--serve', '--runs', String(runs)], {
    env: cleanEnvironment(folder),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [port] = await once(server.stdout, 'data');
    const baseUrl = `http://127.0.0.1:${String(port).trim()}`;
    const env = { ...cleanEnvironment(folder), AOPS_BASE_URL: baseUrl, AOPS_API_KEY: 'bench' };
    const list = (team) => [launcher, 'runs', 'list', '--team', team, '--all', '-o', 'ndjson'];
    const cases = {
      bare: { args: [self, '--loop', baseUrl, '--team', 'many'], lines: runs },
      aops: { args: list('many'), lines: runs },
      few: { args: list('few'), lines: fewRuns },
    };
    const results = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
    for (let round = -1; round < rounds; round += 1) {
      for (const [name, { args, lines }] of Object.entries(cases)) {
        const result = await runMeasured(process.execPath, args, env);
        if (result.lines !== lines) throw new Error(`${name} printed ${result.lines} lines instead of ${lines}`);
        if (round >= 0) results[name].push(result);
      }
    }
    return results;
  } finally {
    server.kill();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function figuresOf(results) {
  const medianOf = (name, field) => median(results[name].map((result) => result[field]));
  const time = { bare_ms: medianOf('bare', 'milliseconds'), aops_ms: medianOf('aops', 'milliseconds'), goal: 1.15 };
  const memory = {
    bare_kb: medianOf('bare', 'peakKilobytes'),
    few_kb: medianOf('few', 'peakKilobytes'),
    many_kb: medianOf('aops', 'peakKilobytes'),
    goal: 1.3,
  };
  return {
    time: { ...time, ratio: time.aops_ms / time.bare_ms },
    memory: { ...memory, ratio: memory.many_kb / memory.few_kb },
  };
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    runs: { type: 'string', default: '100000' },
    json: { type: 'boolean', default: false },
    serve: { type: 'boolean', default: false },
    loop: { type: 'string' },
    team: { type: 'string', default: 'many' },
  },
});
const options = { rounds: Number(values.rounds), runs: Number(values.runs), json: values.json };
if (values.serve) serve(options.runs);
else if (values.loop !== undefined) await bareLoop(values.loop, values.team);
else {
  const { rounds, runs } = options;
  const result = { runs, few_runs: fewRuns, rounds, ...figuresOf(await measure(options)), circumstances: circumstances(rounds) };
  printResult('listing', result, options.json);
}
