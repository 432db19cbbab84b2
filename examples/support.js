// Shared by the demonstrations: a temporary home folder, visible aops commands, and cleaning up.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const launcher = fileURLToPath(new URL('../bin/aops.js', import.meta.url));

/** A command failed that the rest of the demonstration depends on. */
class Failed extends Error {
  constructor(code) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/**
 * Runs a demonstration and ends the process with its exit code.
 * `demo` gets a temporary folder, `home`, and functions that run commands:
 * - `aops(...args)` resolves to the exit code; `must(...args)` ends the demonstration unless it is 0;
 * - `into(file, ...args)` is `must` with the output in a file; `begin(file, ...args)` keeps the command running until `stop()`, which acts like Ctrl-C;
 * - `read(...args)` is not shown, and resolves to the output;
 * - `mustWithInput(input, ...args)` is `must` with a text on standard input;
 * - `shell(command)` runs another command and resolves to what it printed; `cd(folder)` changes the folder of all later commands;
 * - `until(what, look)` polls for at most a minute, until `look` resolves to something other than false or undefined.
 */
export async function demonstrate(demo) {
  const home = await mkdtemp(path.join(tmpdir(), 'aops-demo-'));
  const folders = { AOPS_CONFIG_DIR: 'config', AOPS_DATA_DIR: 'data', AOPS_CACHE_DIR: 'cache' };
  const env = { ...process.env, ...Object.fromEntries(Object.entries(folders).map(([name, folder]) => [name, path.join(home, folder)])) };
  for (const name of ['AOPS_API_KEY', 'AOPS_CLIENT_ID', 'AOPS_CLIENT_SECRET', 'AOPS_BASE_URL', 'AOPS_TEAM_ID', 'AOPS_PROFILE'])
    delete env[name];

  // Ctrl-C reaches the command that is running; this script continues, in order to clean up.
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  // The reader of the output has gone, as with `| head`. This ends the demonstration too, but it still cleans up.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', interrupt);

  const shown = (args) => args.map((arg) => (/^[\w./@=:-]+$/.test(arg) ? arg : `'${arg}'`)).join(' ');
  let cwd;
  const start = (args, stdio) => spawn(process.execPath, [launcher, ...args], { env, cwd, stdio });
  const ended = (child) =>
    new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve(signal === 'SIGINT' ? 130 : (code ?? 1)));
    });

  function aops(...args) {
    if (interrupted) return Promise.resolve(130);
    console.error(`\n$ aops ${shown(args)}`);
    return ended(start(args, 'inherit'));
  }

  async function must(...args) {
    const code = await aops(...args);
    if (code !== 0) throw new Failed(code);
  }

  async function mustWithInput(input, ...args) {
    if (interrupted) throw new Failed(130);
    console.error(`\n$ aops ${shown(args)}`);
    const child = start(args, ['pipe', 'inherit', 'inherit']);
    // A command that fails before it has read its input explains why.
    child.stdin.on('error', () => undefined).end(input);
    const code = await ended(child);
    if (code !== 0) throw new Failed(code);
  }

  async function shell(command) {
    if (interrupted) throw new Failed(130);
    console.error(`\n$ ${command}`);
    const child = spawn('/bin/sh', ['-c', command], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      process.stdout.write(chunk);
    });
    await ended(child);
    return text;
  }

  function cd(folder) {
    console.error(`\n$ cd ${folder}`);
    cwd = folder;
  }

  const background = new Set();
  function begin(file, ...args) {
    return printingInto(file, args, ' &');
  }
  async function into(file, ...args) {
    const code = await printingInto(file, args, '').done;
    if (code !== 0) throw new Failed(code);
  }
  function printingInto(file, args, end) {
    if (interrupted) throw new Failed(130);
    console.error(`\n$ aops ${shown(args)} > ${path.basename(file)}${end}`);
    const output = openSync(file, 'w', 0o600);
    const child = start(args, ['ignore', output, 'inherit']);
    closeSync(output);
    const done = ended(child).finally(() => background.delete(running));
    const running = { done, stop: () => child.kill('SIGINT') && done };
    background.add(running);
    return running;
  }

  async function read(...args) {
    if (interrupted) throw new Failed(130);
    const child = start(args, ['ignore', 'pipe', 'inherit']);
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    const code = await ended(child);
    if (code !== 0) throw new Failed(code);
    return text;
  }

  async function until(what, look) {
    for (const end = Date.now() + 60_000; Date.now() < end; await setTimeout(50)) {
      if (interrupted) throw new Failed(130);
      const found = await look();
      if (found) return found;
    }
    throw new Error(`A minute has passed, and there is no ${what}.`);
  }

  let code = 1;
  try {
    code = (await demo({ aops, must, mustWithInput, into, begin, read, until, shell, cd, home })) ?? 0;
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    code = error.code;
  } finally {
    for (const { stop } of background) await stop();
    interrupted = false;
    const down = await aops('local', 'down');
    await rm(home, { recursive: true, force: true });
    process.exitCode = code === 0 ? down : code;
  }
}

/** A file in the folder of a script, as a path relative to the current folder. */
export const neighbour = (script, name) => path.relative(process.cwd(), fileURLToPath(new URL(name, script)));

/** Whether this is a terminal at which a person can answer. */
export const someoneIsHere = Boolean(process.stdin.isTTY && process.stderr.isTTY && !process.env.CI);
