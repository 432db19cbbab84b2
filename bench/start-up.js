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
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { printResult } from './reports.js';
import { circumstances, cleanEnvironment, launcher, median } from './support.js';

const warmUpRounds = 3;
const runsPresent = 20;

/** The single-file executable, if it has been built, and GitHub's command line, if it is installed, for comparison. */
const executable = path.join(path.dirname(launcher), '..', 'build', process.platform === 'win32' ? 'aops.exe' : 'aops');
const hasExecutable = existsSync(executable);
const hasGh = spawnSync('gh', ['--version'], { stdio: 'ignore' }).status === 0;

/** The case that the others are compared with, unless they name a `peer`. */
const floor = 'node -e 0';

/** What a shell runs when TAB is pressed after these words. */
const completing = (...words) => ({ name: `TAB after ${words.join(' ')}`, args: [launcher, '__complete', '--', ...words] });

/** The cases. `gh api` sends the request of `aops runs list` to the same service. */
const cases = [
  { name: floor, args: ['-e', '0'] },
  { name: 'aops --version', args: [launcher, '--version'], goal: 1.1 },
  { name: 'aops runs list', args: [launcher, 'runs', 'list'], goal: 2.3 },
  { name: 'aops completion bash', args: [launcher, 'completion', 'bash'], goal: 1.8 },
  { ...completing('runs', 'st'), goal: 1.8 },
  { ...completing('runs', 'start', '--age'), goal: 1.8 },
  // It also offers the user's aliases and extensions.
  completing('ru'),
  ...(hasExecutable
    ? [
        { name: 'executable --version', program: executable, args: ['--version'], ...(hasGh && { peer: 'gh --version', goal: 1 }) },
        { name: 'executable runs list', program: executable, args: ['runs', 'list'], ...(hasGh && { peer: 'gh api', goal: 1 }) },
      ]
    : []),
  ...(hasGh
    ? [
        { name: 'gh --version', program: 'gh', args: ['--version'] },
        { name: 'gh api', program: 'gh', args: ({ runs, token }) => ['api', runs, '-H', `Authorization: Bearer ${token}`] },
      ]
    : []),
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
      const { url, data_dir, team_id } = JSON.parse(await aops('local', 'status', '--json'));
      const token = (await readFile(path.join(data_dir, 'token'), 'utf8')).trim();
      // gh demands a token of its own, and looks for a newer version of itself otherwise.
      return await work({ ...env, GH_TOKEN: 'unused', GH_NO_UPDATE_NOTIFIER: '1' }, { runs: `${url}/v2/teams/${team_id}/runs`, token });
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

async function measure(rounds, env, service) {
  const times = cases.map(() => []);
  for (let round = -warmUpRounds; round < rounds; round += 1) {
    for (const [index, { program, args }] of cases.entries()) {
      const milliseconds = await timeRun(program, typeof args === 'function' ? args(service) : args, env);
      if (round >= 0) times[index].push(milliseconds);
    }
  }
  const medians = new Map(cases.map(({ name }, index) => [name, median(times[index])]));
  return cases.map(({ name, peer = floor, goal }, index) => {
    const median_ms = medians.get(name);
    const row = { name, median_ms, min_ms: Math.min(...times[index]), peer, ratio: median_ms / medians.get(peer) };
    return goal === undefined ? row : { ...row, goal, met: row.ratio <= goal };
  });
}

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '25' }, json: { type: 'boolean', default: false } } });
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds is a whole number from 1 on.');
const results = await withService((env, service) => measure(rounds, env, service));
const size = hasExecutable ? { executable_mib: statSync(executable).size / 2 ** 20 } : {};
printResult('start-up', { rounds, results, ...size, circumstances: circumstances(rounds) }, values.json);
