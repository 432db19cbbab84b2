#!/usr/bin/env node
/**
 * Mutation testing: makes small changes to the source, one at a time, and lists those that no test notices.
 *
 *   npm run mutate -- [PATH...] [--tests PATH]... [--limit MINUTES] [--sample N] [--goal PERCENT] [--json FILE] [--again FILE]
 *     [--workers N]
 *
 * Without a path it takes the lines that differ from `main`. `--again` tries the survivors in a file that `--json` wrote.
 * Each mutant meets the tests that reach it, quickest files first. Mutants that change nothing anybody could notice are listed in
 * scripts/mutate/equivalent.json, each with its reason.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Lane } from './mutate/lane-process.js';
import { mutantsOf } from './mutate/mutants.js';
import { changedLines, sourceFiles, testFiles } from './mutate/selection.js';

const root = path.resolve(import.meta.dirname, '..');
/** How long the tests of one mutant may take altogether, in milliseconds without a mutant. */
const mutantMilliseconds = 60_000;
/** What tests may take longer than without a mutant before it counts as a loop: a factor and milliseconds. */
const patience = { factor: 5, milliseconds: 25_000 };
/** The limit of each test in milliseconds: without a mutant, and with one, where it also has a factor for tests that take longer. */
const testLimit = { usual: 60_000, mutant: 10_000, factor: 3 };

const { values, positionals } = argumentsOf({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    tests: { type: 'string', multiple: true, default: [] },
    limit: { type: 'string', default: '60' },
    sample: { type: 'string' },
    goal: { type: 'string' },
    json: { type: 'string' },
    again: { type: 'string' },
    workers: { type: 'string', default: '2' },
  },
});
if (values.help) {
  process.stdout.write(helpText());
  process.exit(0);
}
const number = (name) => {
  const value = Number(values[name]);
  if (values[name] !== undefined && !(value > 0)) usage(`--${name} needs a number above 0, not "${values[name]}".`);
  return value;
};
const [limit, sample, goal, workers] = ['limit', 'sample', 'goal', 'workers'].map(number);
const startedAt = Date.now();
const isOver = () => Date.now() - startedAt > limit * 60_000;

/** What an earlier run found. */
const earlierReport = values.again === undefined ? undefined : JSON.parse(readFileSync(values.again, 'utf8'));
const isSame = (a, b) => ['file', 'code', 'original', 'replacement'].every((name) => a[name] === b[name]);
const isWanted = filterOfMutants();
const files = isWanted.files;
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
const reasonOf = (mutant) => equivalents.find((equivalent) => isSame(equivalent, mutant))?.reason;

const env = { ...process.env, AOPS_MUTATE_FILES: JSON.stringify(firsts), NODE_NO_WARNINGS: '1' };

const lanes = Array.from({ length: workers }, (_, index) => {
  const results = path.join(folder, `${index}.ndjson`);
  writeFileSync(results, '');
  return new Lane(root, env, results);
});
process.on('exit', () => {
  for (const lane of lanes) lane.end();
});
process.on('SIGINT', () => process.exit(130));

/** Hands the items to the lanes, one at a time to each. */
async function runEach(items, work) {
  const remainingItems = [...items];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let item = remainingItems.shift(); item !== undefined && !isOver(); item = remainingItems.shift()) await work(lane, item);
    }),
  );
}

/** Runs the test files without a mutant. Returns what each found: its duration, and the mutants that its tests reach. */
async function reachOf(tests) {
  const reports = [];
  const errors = [];
  await runEach(tests, async (lane, file) => {
    const outcomes = [];
    const { errors: failures } = await lane.run(
      { mode: 'reach', file, timeLimit: testLimit.usual },
      (result) => outcomes.push(result),
      () => 300_000,
    );
    if (outcomes.length === 0) errors.push(`${file}: ${failures.join('; ') || 'It has no result.'}`);
    for (const result of outcomes) {
      errors.push(...result.errors.map((error) => `${file}: ${error}`));
      reports.push({ ...result, file });
    }
    progress(`${reports.length} of ${tests.length} test files`);
  });
  if (errors.length > 0) {
    process.stderr.write(`These tests fail without a mutant:\n  ${errors.join('\n  ')}\n`);
    process.exit(1);
  }
  return reports.sort((a, b) => a.milliseconds - b.milliseconds);
}

/** The tests of a file that reach a mutant, and how long they take; undefined if none does. */
function testsReaching({ tests, outside, milliseconds }, number) {
  if (outside.has(number)) return { milliseconds };
  const names = tests.filter(({ mutants: numbers }) => numbers.has(number));
  if (names.length === 0) return undefined;
  return { tests: names.map(({ name }) => name), milliseconds: names.reduce((total, test) => total + test.milliseconds, 0) };
}

/** Tries the mutants with one test file after another, quickest first. Returns the outcome of each mutant. */
async function outcomesOf(numbers, reports) {
  const outcomes = new Map(numbers.map((number) => [number, { outcome: 'not reached', spentMilliseconds: 0 }]));
  const isUndecided = (number) => !['killed', 'timed out'].includes(outcomes.get(number).outcome);
  await runEach(reports, async (lane, test) => {
    const plan = new Map();
    for (const number of numbers) {
      const reaching = isUndecided(number) ? testsReaching(test, number) : undefined;
      if (reaching === undefined) continue;
      const state = outcomes.get(number);
      if (state.outcome === 'not reached') state.outcome = 'survived';
      if (state.spentMilliseconds > mutantMilliseconds) state.isCut = true;
      else plan.set(number, { number, isFresh: mutants[number].isTopLevel, ...reaching });
    }
    let current;
    const patienceOf = (result) => {
      if (result?.begun !== undefined) current = result.begun;
      return (plan.get(current)?.milliseconds ?? 0) * patience.factor * 2 + patience.milliseconds;
    };
    const onResult = ({ number, outcome, isHanging }) => {
      if (number === undefined) return;
      const state = outcomes.get(number);
      const { milliseconds, isAlone } = plan.get(number);
      state.spentMilliseconds += milliseconds;
      if (outcome === 'killed') state.outcome = isHanging ? 'timed out' : 'killed';
      // A test that fails afterwards, too, depends on another test or on something left behind: all tests of the file, in a new process, decide.
      const isRepeated = outcome === 'unsure' && !isAlone;
      plan.delete(number);
      if (isRepeated) plan.set(number, { number, isFresh: true, isAlone: true, milliseconds: test.milliseconds });
      current = undefined;
      progress(`${[...outcomes.keys()].filter((key) => !isUndecided(key)).length} of ${numbers.length} mutants killed; ${test.file}`);
    };
    while (plan.size > 0 && !isOver()) {
      for (const number of plan.keys()) if (!isUndecided(number)) plan.delete(number);
      const before = plan.size;
      current = undefined;
      const names = test.tests.map(({ name }) => name);
      const timeLimit = Math.max(testLimit.mutant, testLimit.factor * Math.max(...test.tests.map(({ milliseconds }) => milliseconds)));
      const attempt = { mode: 'try', file: test.file, names, mutants: [...plan.values()], timeLimit };
      const { errors } = await lane.run(attempt, onResult, patienceOf);
      if (errors.length > 0 && current !== undefined) {
        outcomes.get(current).outcome = 'timed out';
        plan.delete(current);
      } else if (plan.size === before) break;
    }
  });
  // What is undecided when the time is over was not tried with all tests.
  if (isOver()) for (const number of numbers) if (isUndecided(number)) outcomes.delete(number);
  return outcomes;
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

const place = ({ file, line, original, replacement }) => {
  const short = (text) => text.replaceAll(/\s+/g, ' ').slice(0, 80);
  return `${file}:${line}  ${short(original)}  ->  ${replacement === '' ? '(removed)' : short(replacement)}`;
};

/** The flags and paths of this command. */
function argumentsOf(config) {
  try {
    return parseArgs(config);
  } catch (error) {
    return usage(error.message);
  }
}

/** The comment at the top of this file. */
function helpText() {
  const source = readFileSync(import.meta.filename, 'utf8');
  const comment = source.slice(source.indexOf('/**') + 3, source.indexOf('*/'));
  return `${comment.replaceAll(/^ \* ?/gm, '').trim()}\n`;
}

function usage(message) {
  process.stderr.write(`${message}\nSee: npm run mutate -- --help\n`);
  process.exit(2);
}

/** Which mutants to try, and the files that they are in. */
function filterOfMutants() {
  if (earlierReport !== undefined) {
    const namedFiles = [...new Set(earlierReport.survivors.map(({ file }) => file))];
    return Object.assign((mutant) => earlierReport.survivors.some((survivor) => isSame(survivor, mutant)), { files: namedFiles });
  }
  if (positionals.length === 0) return changedLines(root);
  return Object.assign(() => true, { files: sourceFiles(root, positionals) });
}

/** The same choice of mutants each time, spread over all of them. */
function sampleOf(numbers) {
  if (values.sample === undefined || numbers.length <= sample) return numbers;
  return Array.from({ length: Math.floor(sample) }, (_, index) => numbers[Math.floor((index * numbers.length) / sample)]);
}

const tests = testFiles(root, files, values.tests);
process.stderr.write(`${files.length} files, ${mutants.length} mutants, ${tests.length} test files\n`);
const chosenMutants = sampleOf(
  mutants.map((_, index) => index).filter((index) => isWanted(mutants[index]) && reasonOf(mutants[index]) === undefined),
);
const reports = (await reachOf(tests)).map(({ tests: executedTests, outside, ...rest }) => ({
  ...rest,
  outside: new Set(outside),
  tests: executedTests.map((test) => ({ ...test, mutants: new Set(test.mutants) })),
}));
const outcomes = await outcomesOf(chosenMutants, reports);
progress('');

const counts = { killed: 0, 'timed out': 0 };
const survivors = [];
for (const [index, { outcome: result, isCut }] of outcomes) {
  const outcome = result === 'survived' && isCut ? 'survived, and not all tests were tried' : result;
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  if (outcome !== 'killed' && outcome !== 'timed out') survivors.push({ outcome, ...mutants[index] });
}
for (const { outcome, ...mutant } of survivors) process.stdout.write(`${outcome.padEnd(12)} ${place(mutant)}\n`);
/** Survivors of the earlier run that are equivalent or no longer in the source are not counted. */
const noticedCount = counts.killed + counts['timed out'] + (earlierReport?.noticed ?? 0);
const total = chosenMutants.length + (earlierReport?.noticed ?? 0);
/** Mutants that were not killed before the time was over may have met some of their tests, so they count as not noticed. */
const percent = (100 * noticedCount) / total;
const undecidedMutants = chosenMutants
  .filter((index) => !outcomes.has(index))
  .map((index) => ({ outcome: 'undecided', ...mutants[index] }));
const descriptions = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
if (undecidedMutants.length > 0) descriptions.push(`${undecidedMutants.length} undecided after ${limit} minutes`);
process.stdout.write(
  `${descriptions.join(', ')}: ${undecidedMutants.length > 0 ? 'at least ' : ''}${percent.toFixed(0)} % of ${total} were noticed.\n`,
);
if (values.json)
  writeFileSync(
    values.json,
    JSON.stringify({ noticed: noticedCount, total, survivors: [...survivors, ...undecidedMutants] }, undefined, 2),
  );
process.exit(goal > percent ? 1 : 0);
