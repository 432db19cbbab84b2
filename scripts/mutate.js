#!/usr/bin/env node
/**
 * Mutation testing: makes small changes to the source, one at a time, and lists those that no test notices.
 *
 *   npm run mutate -- [PATH...] [--tests PATH]... [--limit MINUTES] [--sample N] [--goal PERCENT] [--json FILE] [--again FILE]
 *     [--workers N] [--once]
 *
 * Without a path it takes the lines that differ from `main`. `--again` tries the survivors in a file that `--json` wrote. `--once` is
 * faster: it does not try again what took too long.
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
/**
 * How long each test may take before it counts as a loop: milliseconds, and factors for what loading the modules and the test take
 * without a mutant. They are measured with the clock of the lane, which stands still while other programs use the processors.
 * A mutant that took too long is tried once more, alone in a new process and with more patience, except with `--once`.
 */
const patience = { start: 20_000, test: 2_000, loadFactor: 3, testFactor: 6, aloneFactor: 2 };

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
    once: { type: 'boolean', default: false },
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
// Otherwise a second folder after --tests, which takes one, would be ignored.
for (const place of positionals)
  if (sourceFiles(root, [place]).length === 0)
    usage(`There is no source file in ${place}. Tests are named with --tests, each with its own.`);
if (files.length === 0) usage('Nothing in src differs from main. Name files or folders.');

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
process.on('SIGTERM', () => process.exit(143));

/** Hands the items to the lanes, one at a time to each. */
async function runEach(items, work) {
  const remainingItems = [...items];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let item = remainingItems.shift(); item !== undefined && !isOver(); item = remainingItems.shift()) await work(lane, item);
    }),
  );
}

/**
 * Runs the test files without a mutant. Returns what each found: its duration, and the mutants that its tests reach. A file whose tests
 * fail twice is left out.
 */
async function reachOf(tests) {
  const reports = [];
  await runEach(tests, async (lane, file) => {
    let report;
    let failures = [];
    for (let attempts = 0; attempts < 2 && report === undefined; attempts += 1) {
      let result;
      const { errors } = await lane.run(
        { mode: 'reach', file },
        (found) => {
          result = found;
        },
        () => 300_000,
      );
      failures = result?.errors ?? errors;
      if (result !== undefined && failures.length === 0) report = result;
    }
    if (report === undefined) process.stderr.write(`${file} is left out, because it fails without a mutant:\n  ${failures.join('\n  ')}\n`);
    else reports.push({ ...report, file });
    progress(`${reports.length} of ${tests.length} test files`);
  });
  if (reports.length === 0) process.exit(1);
  return reports.sort((a, b) => a.milliseconds - b.milliseconds);
}

/** The tests of a file that reach a mutant, how long they take, and how long the slowest takes; undefined if none does. */
function testsReaching({ tests, outside, milliseconds }, number) {
  const isOutside = outside.has(number);
  const names = isOutside ? tests : tests.filter(({ mutants: numbers }) => numbers.has(number));
  if (!isOutside && names.length === 0) return undefined;
  const slowest = slowestOf(names);
  if (isOutside) return { milliseconds, slowest };
  return { tests: names.map(({ name }) => name), milliseconds: names.reduce((total, test) => total + test.milliseconds, 0), slowest };
}

/** The milliseconds of the slowest test. */
const slowestOf = (tests) => Math.max(0, ...tests.map(({ milliseconds }) => milliseconds));

/** Tries the mutants with one test file after another, quickest first. Returns the outcome of each mutant. */
async function outcomesOf(numbers, reports) {
  const outcomes = new Map(numbers.map((number) => [number, { outcome: 'not reached', spentMilliseconds: 0 }]));
  const triedReports = new Set();
  const isAlive = (number) => !['killed', 'timed out'].includes(outcomes.get(number).outcome);
  await runEach(reports, async (lane, test) => {
    const plan = new Map();
    for (const number of numbers) {
      const reaching = isAlive(number) ? testsReaching(test, number) : undefined;
      if (reaching === undefined) continue;
      const state = outcomes.get(number);
      if (state.outcome === 'not reached') state.outcome = 'survived';
      if (state.spentMilliseconds > mutantMilliseconds) state.isUndecided = true;
      else {
        const { isTopLevel, isOnce } = mutants[number];
        plan.set(number, { number, isFresh: isTopLevel, isOnce, ...reaching, ...(isOnce ? { slowest: slowestOf(test.tests) } : {}) });
      }
    }
    let current;
    let resultCount = 0;
    let emptyAttempts = 0;
    const patienceOf = (result) => {
      if (result?.begun !== undefined) current = result.begun;
      const load = patience.loadFactor * test.loadMilliseconds;
      if (current === undefined) return patience.start + load;
      const { slowest, isFresh, isSlow } = plan.get(current);
      return (patience.test + patience.testFactor * slowest + (isFresh ? 2 * load : 0)) * (isSlow ? patience.aloneFactor : 1);
    };
    const onResult = ({ number, outcome, isHanging }) => {
      if (number === undefined) return;
      resultCount += 1;
      const state = outcomes.get(number);
      const { milliseconds, isAlone } = plan.get(number);
      state.spentMilliseconds += milliseconds;
      if (outcome === 'killed') state.outcome = isHanging ? 'timed out' : 'killed';
      if (outcome === 'unsure' && isAlone) state.isUndecided = true;
      // A test that fails afterwards, too, depends on another test or on something left behind: all tests of the file, in a new process, decide.
      const isRepeated = outcome === 'unsure' && !isAlone;
      plan.delete(number);
      if (isRepeated)
        plan.set(number, { number, isFresh: true, isAlone: true, milliseconds: test.milliseconds, slowest: slowestOf(test.tests) });
      current = undefined;
      progress(`${[...outcomes.keys()].filter((key) => !isAlive(key)).length} of ${numbers.length} mutants killed; ${test.file}`);
    };
    while (plan.size > 0 && !isOver()) {
      for (const number of plan.keys()) if (!isAlive(number)) plan.delete(number);
      const before = resultCount;
      current = undefined;
      const names = test.tests.map(({ name }) => name);
      const ordinary = [...plan.values()].filter(({ isSlow }) => !isSlow);
      const attempt = { mode: 'try', file: test.file, names, mutants: ordinary.length > 0 ? ordinary : [...plan.values()].slice(0, 1) };
      const { errors, isUndecided } = await lane.run(attempt, onResult, patienceOf);
      if (errors.length > 0 && current !== undefined) {
        const entry = plan.get(current);
        plan.delete(current);
        if (isUndecided) outcomes.get(current).isUndecided = true;
        else if (entry.isSlow || values.once) outcomes.get(current).outcome = 'timed out';
        else plan.set(current, { ...entry, isSlow: true });
      } else if (resultCount === before) {
        // A process can end before its first result, for example when its predecessor was just ended.
        emptyAttempts += 1;
        if (emptyAttempts > 2) break;
      }
    }
    // These were not tried with this file, because the time was over or the lane failed.
    for (const number of plan.keys()) outcomes.get(number).isUndecided = true;
    triedReports.add(test);
  });
  for (const test of reports.filter((report) => !triedReports.has(report)))
    for (const number of numbers) if (testsReaching(test, number) !== undefined) outcomes.get(number).isUndecided = true;
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
  loadMilliseconds: Math.max(0, rest.milliseconds - executedTests.reduce((total, test) => total + test.milliseconds, 0)),
  outside: new Set(outside),
  tests: executedTests.map((test) => ({ ...test, mutants: new Set(test.mutants) })),
}));
const outcomes = await outcomesOf(chosenMutants, reports);
progress('');

const counts = { killed: 0, 'timed out': 0 };
const survivors = [];
for (const index of chosenMutants) {
  const { outcome: result, isUndecided } = outcomes.get(index);
  const isNoticed = result === 'killed' || result === 'timed out';
  const outcome = isUndecided && !isNoticed ? 'undecided' : result;
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  if (outcome !== 'killed') process.stdout.write(`${outcome.padEnd(12)} ${place(mutants[index])}\n`);
  if (!isNoticed) survivors.push({ outcome, ...mutants[index] });
}
/** Survivors of the earlier run that are equivalent or no longer in the source are not counted. */
const noticedCount = counts.killed + counts['timed out'] + (earlierReport?.noticed ?? 0);
const total = chosenMutants.length + (earlierReport?.noticed ?? 0);
/** Mutants that not all their tests were tried with count as not noticed. */
const percent = (100 * noticedCount) / total;
const descriptions = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
process.stdout.write(
  `${descriptions.join(', ')}: ${counts.undecided > 0 ? 'at least ' : ''}${percent.toFixed(0)} % of ${total} were noticed.\n`,
);
if (values.json) writeFileSync(values.json, JSON.stringify({ noticed: noticedCount, total, survivors }, undefined, 2));
process.exit(goal > percent ? 1 : 0);
