#!/usr/bin/env node
/**
 * Mutation testing: makes small changes to the source, one at a time, and lists those that no test notices.
 *
 *   npm run mutate -- [PATH...] [--tests PATH]... [--limit MINUTES] [--sample N] [--goal PERCENT] [--json FILE]
 *
 * Without a path it takes the lines that differ from `main`. Each mutant meets the test files that reach it, quickest first. Mutants
 * that change nothing anybody could notice are listed in scripts/mutate/equivalent.json, each with its reason.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { mutantsOf } from './mutate/mutants.js';
import { changedLines, sourceFiles, testFiles } from './mutate/selection.js';

const root = path.resolve(import.meta.dirname, '..');
const laneCount = 2;
/** Test files of one mutant that are run together take about this long, in milliseconds. */
const batchMilliseconds = 15_000;
/** What a batch may take longer than without a mutant before it counts as a loop: a factor and milliseconds. */
const patience = { factor: 4, milliseconds: 20_000 };
/** How long the tests of one mutant may take altogether, in milliseconds. */
const mutantMilliseconds = 90_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tests: { type: 'string', multiple: true, default: [] },
    limit: { type: 'string', default: '60' },
    sample: { type: 'string' },
    goal: { type: 'string' },
    json: { type: 'string' },
  },
});
const number = (name) => {
  const value = Number(values[name]);
  if (values[name] !== undefined && !(value > 0)) usage(`--${name} needs a number above 0, not "${values[name]}".`);
  return value;
};
const [limit, sample, goal] = ['limit', 'sample', 'goal'].map(number);
const startedAt = Date.now();
const isOver = () => Date.now() - startedAt > limit * 60_000;

const isChanged = positionals.length === 0 ? changedLines(root) : () => true;
const files = positionals.length === 0 ? isChanged.files : sourceFiles(root, positionals);
if (files.length === 0)
  usage(
    positionals.length === 0
      ? 'Nothing in src differs from main. Name files or folders.'
      : `There is no source file in ${positionals.join(', ')}.`,
  );

const folder = mkdtempSync(path.join(tmpdir(), 'aops-mutate-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** All mutants by their numbers. */
const mutants = [];
const firsts = [];
for (const file of files) {
  firsts.push([file, mutants.length]);
  const source = readFileSync(path.join(root, file), 'utf8');
  const lines = source.split('\n');
  for (const mutant of mutantsOf(source)) mutants.push({ ...mutant, file, code: lines[mutant.line - 1].trim() });
}
const equivalents = JSON.parse(readFileSync(path.join(root, 'scripts/mutate/equivalent.json'), 'utf8'));
const reasonOf = ({ file, code, original, replacement }) =>
  equivalents.find(
    (known) => known.file === file && known.code === code && known.original === original && known.replacement === replacement,
  )?.reason;

const env = { ...process.env, AOPS_MUTATE_FILES: JSON.stringify(firsts) };

/** A process that runs tests; it is replaced when it had to be ended. */
class Lane {
  #child;

  /** What the tests found, or undefined when they took too long. */
  async run(message, milliseconds) {
    if (this.#child === undefined) {
      this.#child = fork(path.join(root, 'scripts/mutate/lane.js'), {
        cwd: root,
        env,
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        detached: true,
      });
      await once(this.#child, 'message');
    }
    this.#child.send(message);
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), milliseconds);
    const { signal } = over;
    const answer = await Promise.race([
      once(this.#child, 'message', { signal }).then(([sent]) => sent),
      once(this.#child, 'exit', { signal }).then(() => undefined),
    ]).catch(() => undefined);
    clearTimeout(timer);
    over.abort();
    if (answer === undefined) this.end();
    return answer;
  }

  end() {
    if (this.#child === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {}
    this.#child = undefined;
  }
}

const lanes = Array.from({ length: laneCount }, () => new Lane());
process.on('exit', () => {
  for (const lane of lanes) lane.end();
});
process.on('SIGINT', () => process.exit(130));

/** Hands the items to the lanes, one at a time to each. */
async function each(items, work) {
  const left = [...items];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let item = left.shift(); item !== undefined && !isOver(); item = left.shift()) await work(lane, item);
    }),
  );
}

/** Runs the tests without a mutant: how long each file takes, and the mutants that it reaches. */
async function reachedMutants(tests) {
  const durations = new Map();
  const reaching = new Map();
  const errors = [];
  let ran = 0;
  await each(tests, async (lane, test) => {
    const reached = path.join(folder, `${ran++}.json`);
    const answer = await lane.run({ mutant: -1, reached, tests: [test], bail: 0 }, 300_000);
    if (answer === undefined || answer.failed) errors.push(...(answer?.errors ?? [`${test} took too long.`]));
    durations.set(test, answer?.durations[0]?.[1] ?? 0);
    let lines = '';
    try {
      lines = readFileSync(reached, 'utf8');
    } catch {}
    for (const line of lines.split('\n').filter(Boolean))
      for (const mutant of JSON.parse(line).mutants) reaching.set(mutant, [...(reaching.get(mutant) ?? []), test]);
    progress(`${ran} of ${tests.length} test files`);
  });
  if (errors.length > 0) {
    process.stderr.write(`These tests fail without a mutant:\n  ${errors.join('\n  ')}\n`);
    process.exit(1);
  }
  return { durations, reaching };
}

/** Test files in batches, quickest first. */
function batchesOf(tests, durations) {
  const batches = [];
  let total = Number.POSITIVE_INFINITY;
  for (const test of [...tests].sort((a, b) => durations.get(a) - durations.get(b))) {
    if (total > batchMilliseconds) {
      batches.push([]);
      total = 0;
    }
    batches.at(-1).push(test);
    total += durations.get(test);
  }
  return batches;
}

async function outcomeOf(lane, mutant, tests, durations) {
  const begin = Date.now();
  for (const batch of batchesOf(tests, durations)) {
    if (Date.now() - begin > mutantMilliseconds) return 'survived, and not all tests were tried';
    const expected = batch.reduce((total, test) => total + durations.get(test), 0);
    const answer = await lane.run(
      { mutant, reached: '', tests: batch, bail: 1 },
      Math.ceil(expected * patience.factor) + patience.milliseconds,
    );
    if (answer === undefined) return 'timed out';
    if (answer.failed) return 'killed';
  }
  return 'survived';
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

const place = ({ file, line, original, replacement }) => {
  const short = (text) => text.replaceAll(/\s+/g, ' ').slice(0, 80);
  return `${file}:${line}  ${short(original)}  ->  ${replacement === '' ? '(removed)' : short(replacement)}`;
};

function usage(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

/** The same choice of mutants each time, spread over all of them. */
function sampled(numbers) {
  if (values.sample === undefined || numbers.length <= sample) return numbers;
  return Array.from({ length: Math.floor(sample) }, (_, index) => numbers[Math.floor((index * numbers.length) / sample)]);
}

const tests = testFiles(root, files, values.tests);
process.stderr.write(`${files.length} files, ${mutants.length} mutants, ${tests.length} test files\n`);
const { durations, reaching } = await reachedMutants(tests);

const chosen = sampled(
  mutants.map((_, index) => index).filter((index) => isChanged(mutants[index]) && reasonOf(mutants[index]) === undefined),
);
const outcomes = new Map();
await each(chosen, async (lane, index) => {
  const reachedBy = reaching.get(index);
  outcomes.set(index, reachedBy === undefined ? 'not reached' : await outcomeOf(lane, index, reachedBy, durations));
  progress(`${outcomes.size} of ${chosen.length} mutants`);
});
progress('');

const counts = { killed: 0, 'timed out': 0 };
const survivors = [];
for (const [index, outcome] of [...outcomes].sort(([a], [b]) => a - b)) {
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  if (outcome !== 'killed' && outcome !== 'timed out') survivors.push({ outcome, ...mutants[index] });
}
for (const { outcome, ...mutant } of survivors) process.stdout.write(`${outcome.padEnd(12)} ${place(mutant)}\n`);
const percent = (100 * (counts.killed + counts['timed out'])) / outcomes.size;
const left = chosen.length - outcomes.size;
process.stdout.write(
  `${Object.entries(counts)
    .map(([outcome, count]) => `${count} ${outcome}`)
    .join(
      ', ',
    )}: ${percent.toFixed(0)} % of ${outcomes.size} were noticed${left > 0 ? `; ${left} were not tried within ${limit} minutes` : ''}.\n`,
);
if (values.json) writeFileSync(values.json, JSON.stringify({ percent, counts, left, survivors }, undefined, 2));
process.exit(goal > percent ? 1 : 0);
