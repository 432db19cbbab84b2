// What the demonstrations share: a machine of their own, aops commands in front of the user, and nothing left behind.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const launcher = fileURLToPath(new URL('../bin/aops.js', import.meta.url));

/**
 * Runs a demonstration and ends the process with its exit code.
 * `demo` is given `aops(...args)`, which runs a command and resolves to its exit code, and a temporary folder.
 */
export async function demonstrate(demo) {
  const home = await mkdtemp(path.join(tmpdir(), 'aops-demo-'));
  const folders = { AOPS_CONFIG_DIR: 'config', AOPS_DATA_DIR: 'data', AOPS_CACHE_DIR: 'cache' };
  const env = { ...process.env, ...Object.fromEntries(Object.entries(folders).map(([name, folder]) => [name, path.join(home, folder)])) };
  for (const name of ['AOPS_API_KEY', 'AOPS_CLIENT_ID', 'AOPS_CLIENT_SECRET', 'AOPS_BASE_URL', 'AOPS_TEAM_ID', 'AOPS_PROFILE'])
    delete env[name];

  // Ctrl-C reaches the command that runs; this script goes on to tidy up.
  let interrupted = false;
  process.on('SIGINT', () => {
    interrupted = true;
  });

  function aops(...args) {
    if (interrupted) return Promise.resolve(130);
    console.error(`\n$ aops ${args.map((arg) => (/^[\w./@=:-]+$/.test(arg) ? arg : `'${arg}'`)).join(' ')}`);
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [launcher, ...args], { env, stdio: 'inherit' });
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(signal === 'SIGINT' ? 130 : (code ?? 1)));
    });
  }

  let code = 1;
  try {
    code = await demo({ aops, home });
  } finally {
    interrupted = false;
    const down = await aops('local', 'down');
    await rm(home, { recursive: true, force: true });
    process.exitCode = code === 0 ? down : code;
  }
}

/** A file beside a script, as a path that can be typed here. */
export const beside = (script, name) => path.relative(process.cwd(), fileURLToPath(new URL(name, script)));

/** Whether somebody sits in front of it and can answer. */
export const someoneIsHere = Boolean(process.stdin.isTTY && process.stderr.isTTY && !process.env.CI);
