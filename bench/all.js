#!/usr/bin/env node
/**
 * Runs all benchmarks, or some of them, and writes their results to bench/results.json. `npm run generate`
 * writes the figures from there into README.md and docs/benchmarks.md.
 *
 *   node bench/all.js [NAME...]   (npm run bench builds first, and generates afterwards)
 *
 * The memory of waiting runs is measured while others are: it waits for three minutes, and does not depend on the load.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { reportOf } from './reports.js';

const resultsFile = fileURLToPath(new URL('./results.json', import.meta.url));

/** The arguments of each benchmark. The rounds are few, so that all of them together take less than half an hour. */
const benchmarks = {
  'start-up': ['start-up.js', '--rounds', '20'],
  listing: ['listing.js'],
  transfers: ['transfers.js', '--rounds', '2'],
  service: ['service.js', '--rounds', '3', '--milliseconds', '700'],
  watching: ['watching.js'],
  turns: ['agents.js', '--only', 'turn', '--rounds', '3'],
  search: ['search.js'],
  'many-runs': ['many-runs.js'],
  nodes: ['nodes.js'],
  'watching-many': ['watching-many.js', '--seconds', '8'],
};
const waiting = ['agents.js', '--only', 'waiting'];

/** Runs a benchmark. Returns its result. Throws if it fails. */
async function measure([script, ...args]) {
  const file = fileURLToPath(new URL(`./${script}`, import.meta.url));
  const child = spawn(process.execPath, [file, ...args, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${script} ended with ${code}.`);
  return JSON.parse(stdout);
}

const names = [...Object.keys(benchmarks), 'waiting'];
const { positionals } = parseArgs({ allowPositionals: true });
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined) throw new Error(`${unknown} is not a benchmark; there are: ${names.join(', ')}.`);
const isWanted = (name) => positionals.length === 0 || positionals.includes(name);

const results = JSON.parse(await readFile(resultsFile, 'utf8').catch(() => '{}'));
async function add(name, measurement) {
  results[name] = await measurement;
  await writeFile(resultsFile, `${JSON.stringify(results, null, 2)}\n`);
  process.stdout.write(`${reportOf(name, results[name])}\n\n`);
}

let background;
for (const [name, args] of Object.entries(benchmarks)) {
  // Its start takes as long as the search needs to create its runs.
  if (name === 'search' && isWanted('waiting')) background = add('waiting', measure(waiting));
  background?.catch(() => undefined);
  if (isWanted(name)) await add(name, measure(args));
}
await background;
