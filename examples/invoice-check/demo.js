#!/usr/bin/env node
// The main job from nothing: a local service, an agent, a run watched to its end, its files taken home.
// On a terminal you answer what the agent asks; elsewhere answers.yaml does. Nothing is left behind.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const launcher = path.join(here, '..', '..', 'bin', 'aops.js');
const home = await mkdtemp(path.join(tmpdir(), 'aops-demo-'));
const folders = { AOPS_CONFIG_DIR: 'config', AOPS_DATA_DIR: 'data', AOPS_CACHE_DIR: 'cache' };
const env = { ...process.env, ...Object.fromEntries(Object.entries(folders).map(([name, folder]) => [name, path.join(home, folder)])) };
for (const name of ['AOPS_API_KEY', 'AOPS_CLIENT_ID', 'AOPS_CLIENT_SECRET', 'AOPS_BASE_URL', 'AOPS_TEAM_ID', 'AOPS_PROFILE'])
  delete env[name];

const someoneIsHere = process.stdin.isTTY && process.stderr.isTTY && !process.env.CI;
const file = (name) => path.relative(process.cwd(), path.join(here, name));
const output = path.join(home, 'out');

// Ctrl-C reaches the command that runs; this script goes on to tidy up.
let interrupted = false;
process.on('SIGINT', () => {
  interrupted = true;
});

/** Runs an aops command in front of the user and resolves to its exit code. */
function aops(...args) {
  console.error(`\n$ aops ${args.map((arg) => (/^[\w./@=-]+$/.test(arg) ? arg : `'${arg}'`)).join(' ')}`);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [launcher, ...args], { env, stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal === 'SIGINT' ? 130 : (code ?? 1)));
  });
}

async function demo() {
  const setUp = [
    ['local', 'up', '--ephemeral'],
    ['agents', 'create', '--name', 'invoice-check', '--procedure', file('procedure.yaml')],
  ];
  for (const command of setUp) {
    const code = await aops(...command);
    if (code !== 0 || interrupted) return code || 130;
  }
  const answers = someoneIsHere ? ['--watch'] : ['--answers', file('answers.yaml')];
  const message = 'The invoices of the day, please';
  const run = [
    'runs',
    'start',
    '--agent',
    'invoice-check',
    '--message',
    message,
    '--upload',
    file('invoices.csv'),
    ...answers,
    '--pull',
    output,
  ];
  const code = await aops(...run);
  if (code !== 0) return code;
  console.error('\nreport.md, as the run wrote it:\n');
  console.log(await readFile(path.join(output, 'report.md'), 'utf8'));
  return 0;
}

let code = 1;
try {
  code = await demo();
} finally {
  const down = await aops('local', 'down');
  await rm(home, { recursive: true, force: true });
  process.exitCode = code === 0 ? down : code;
}
