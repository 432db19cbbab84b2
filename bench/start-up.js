#!/usr/bin/env node
/**
 * Start-up times, compared with bare Node, in one run: every round measures each case once, so that a busy
 * machine slows all of them equally. A figure is a ratio of medians of the same run; goals are for ratios.
 *
 *   node bench/start-up.js [--rounds N] [--json]        (npm run bench builds first)
 *
 * Exits with 0 whether the goals are met or not; otherwise only if a measurement failed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { circumstances, cleanEnvironment, launcher, median, ratioCells, table } from './support.js';

const warmUpRounds = 3;
const runsPresent = 20;

/** The single-file executable, if it has been built, and GitHub's command line, if it is installed, for comparison. */
const executable = path.join(path.dirname(launcher), '..', 'build', process.platform === 'win32' ? 'aops.exe' : 'aops');
const hasExecutable = existsSync(executable);
const hasGh = spawnSync('gh', ['--version'], { stdio: 'ignore' }).status === 0;

/** The cases; the others are compared with the first one. */
const cases = [
  { name: 'node -e 0', args: ['-e', '0'] },
  { name: 'aops --version', args: [launcher, '--version'], goal: 1.1 },
  { name: 'aops runs list', args: [launcher, 'runs', 'list'], goal: 2.3 },
  { name: 'aops completion bash', args: [launcher, 'completion', 'bash'], goal: 1.8 },
  ...(hasExecutable
    ? [
        { name: 'executable --version', program: executable, args: ['--version'] },
        { name: 'executable runs list', program: executable, args: ['runs', 'list'] },
      ]
    : []),
  ...(hasGh ? [{ name: 'gh --version', program: 'gh', args: ['--version'] }] : []),
];

/** Milliseconds from the start of a process to its end, including reading its output. Throws if it fails. */
async function timeRun(program, args, env) {
  const startedAt = process.hrtime.bigint();
  const { code, stderr } = await runToEnd(args, env, program);
  const milliseconds = Number(process.hrtime.bigint() - startedAt) / 1e6;
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${stderr}`);
  return milliseconds;
}

/** Runs a program, usually Node, with these arguments to its end. */
async function runToEnd(args, env, program = process.execPath) {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8');
    child[name].on('data', (text) => {
      output[name] += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, ...output };
}

/** Provides a temporary local service with some runs while `work` runs. */
async function withService(work) {
  const folder = await mkdtemp(path.join(tmpdir(), 'aops-bench-'));
  const env = cleanEnvironment(folder);
  const aops = async (...args) => {
    const result = await runToEnd([launcher, ...args], env);
    if (result.code !== 0) throw new Error(`aops ${args.join(' ')} ended with ${result.code}: ${result.stderr}`);
    return result.stdout;
  };
  try {
    await aops('local', 'up');
    try {
      await prepareRuns(aops, folder);
      return await work(env);
    } finally {
      await aops('local', 'down');
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function prepareRuns(aops, folder) {
  const { writeFile } = await import('node:fs/promises');
  const procedure = path.join(folder, 'procedure.yaml');
  await writeFile(procedure, 'version: 1\nsteps:\n  - say: Done.\n');
  await aops('agents', 'create', 'Bench', '--procedure', procedure);
  for (let count = 0; count < runsPresent; count += 1) await aops('runs', 'start', '--agent', 'Bench');
  const { data } = JSON.parse(await aops('runs', 'list', '--json'));
  if (data.length !== runsPresent) throw new Error(`${data.length} runs are listed instead of ${runsPresent}`);
}

async function measure(rounds, env) {
  const times = cases.map(() => []);
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (const [index, { program, args }] of cases.entries()) {
      const milliseconds = await timeRun(program, args, env);
      if (round >= 0) times[index].push(milliseconds);
    }
  }
  const base = median(times[0]);
  return cases.map(({ name, goal }, index) => {
    const row = { name, median_ms: median(times[index]), min_ms: Math.min(...times[index]), ratio: median(times[index]) / base };
    return goal === undefined ? row : { ...row, goal, met: row.ratio <= goal };
  });
}

const cells = ({ name, median_ms, min_ms, ratio, goal }) => [
  name,
  `${median_ms.toFixed(1)} ms`,
  `${min_ms.toFixed(1)} ms`,
  ...ratioCells(ratio, goal),
];

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '25' }, json: { type: 'boolean', default: false } } });
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds is a whole number from 1 on.');
const results = await withService((env) => measure(rounds, env));
if (values.json) process.stdout.write(`${JSON.stringify({ rounds, results }, null, 2)}\n`);
else {
  const size = hasExecutable ? `size of the executable: ${(statSync(executable).size / 2 ** 20).toFixed(0)} MiB\n` : '';
  process.stdout.write(`${table([['', 'median', 'min', 'ratio', 'goal'], ...results.map(cells)])}\n${size}\n${circumstances(rounds)}\n`);
}
