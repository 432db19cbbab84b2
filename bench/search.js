#!/usr/bin/env node
/**
 * The time of a search in many runs, compared with the same search in few: words of one run, of some, and of most runs, with filters,
 * part of an ID, and the total. Also measured: how long a request for one run takes while others search for a word of most runs.
 *
 *   node bench/search.js [--rounds N] [--runs N] [--json]   (npm run bench builds first)
 *
 * Exits with 0 whether the goals are met or not; otherwise only if a measurement failed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { printResult } from './reports.js';
import { caller, seedDatabase } from './seeded.js';
import { circumstances, median, startService } from './support.js';

const fewRuns = 1_000;
const goals = { ratio: 3, waiting: 50 };
/** How many requests for a run are sent, one after the other, while others search. */
const waitingRequests = 200;

/** Every run has a word of its own, every tenth one is urgent, and all are about invoices. */
const title = "'Check invoice ' || n || (case when n % 10 = 0 then ' urgent' else '' end) || ' of the supplier'";
/** The searches. One that counts its matches takes longer the more there are, so it has no goal. */
const searches = [
  { name: 'a word of one run', query: '?search=invoice%20777%20&include_total=false' },
  { name: 'the same, with the total', query: '?search=invoice%20777%20' },
  { name: 'a word that does not occur', query: '?search=zebra' },
  { name: 'part of an ID', query: '?search=0000022b-0000' },
  { name: 'a word of one run, filtered', query: '?search=invoice%20777%20&status=completed&source=api' },
  { name: 'a word of a tenth of all runs', query: '?search=urgent&include_total=false' },
  { name: 'a word of all runs, page 50', query: '?search=invoice&offset=980&limit=20&include_total=false' },
  { name: 'a word of a tenth, with the total', query: '?search=urgent', counts: true },
];

async function measure(folder, { runs, rounds }) {
  const setups = {};
  for (const [name, count] of [
    ['few', fewRuns],
    ['many', runs],
  ]) {
    const setup = await seedDatabase(folder, name, count, { title, title_folded: `lower(${title})` });
    setups[name] = await startService(setup.env, setup.data, ['--rate-limit', '100000000']);
  }
  try {
    const results = [];
    for (const { name, query, counts = false } of searches) {
      const times = { few: [], many: [] };
      for (let round = -1; round < rounds; round += 1)
        for (const [key, service] of Object.entries(setups)) {
          const startedAt = performance.now();
          await caller(service)('GET', `/v2/teams/${service.team}/runs${query}`);
          if (round >= 0) times[key].push(performance.now() - startedAt);
        }
      const [few, many] = [median(times.few), median(times.many)];
      results.push({ name, few_ms: few, many_ms: many, ratio: many / few, ...(counts ? {} : { goal: goals.ratio }) });
    }
    return { searches: results, waiting: await waitingTimes(setups.many) };
  } finally {
    for (const service of Object.values(setups)) await service.stop();
  }
}

/** Milliseconds of requests for one run: without other requests, and while others search for a word of all runs and count them. */
async function waitingTimes(service) {
  const call = caller(service);
  const readRun = async () => {
    const startedAt = performance.now();
    await call('GET', '/v2/runs/00000002-0000-4000-8000-000000000000');
    return performance.now() - startedAt;
  };
  const readRuns = async () => {
    const times = [];
    for (let index = 0; index < waitingRequests; index += 1) times.push(await readRun());
    return times;
  };
  await readRuns();
  const alone = await readRuns();
  let isDone = false;
  const search = async () => {
    while (!isDone) await call('GET', `/v2/teams/${service.team}/runs?search=invoice`);
  };
  const others = [search(), search()];
  const during = await readRuns();
  isDone = true;
  await Promise.all(others);
  return { alone_ms: median(alone), during_ms: median(during), maximum_ms: Math.max(...during), goal: goals.waiting };
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '15' },
    runs: { type: 'string', default: '1000000' },
    json: { type: 'boolean', default: false },
  },
});
const options = Object.fromEntries(['rounds', 'runs'].map((name) => [name, Number(values[name])]));
for (const [name, value] of Object.entries(options))
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} is a whole number from 1 on.`);
const folder = await mkdtemp(path.join(tmpdir(), 'aops-search-bench-'));
try {
  const result = await measure(folder, options);
  printResult('search', { ...options, few_runs: fewRuns, ...result, circumstances: circumstances(options.rounds) }, values.json);
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
