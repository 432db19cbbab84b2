/** Runs commands that people use often with the parts of the executable, so that the code that V8 compiles for them is stored. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';

const procedure = 'version: 1\nsteps:\n  - say: "{{ 1 | plus: 2 }}"\n';

/** In this order. */
const commands = [
  ['--help'],
  ['local', 'up'],
  ['agents', 'create', 'adder', '--procedure', 'adder.yaml'],
  ['agents', 'list'],
  ['runs', 'start', '--agent', 'adder', '--watch'],
  ['runs', 'list'],
  ['runs', 'list', '--json', '--jq', '.data | length'],
  ['runs', 'get', '1', '--json'],
  ['runs', 'get', '1'],
  ['runs', 'messages', '1'],
  ['runs', 'watch', '1'],
  ['runs', '--help'],
  ['runs', 'start', '--help'],
  ['inbox'],
  ['completion', 'bash'],
  ['__complete', '--', 'runs', 'g'],
  ['__complete', '--', ''],
  ['local', 'status'],
  ['local', 'down'],
];

/** @param program the program, whose folder contains the parts and a folder for the code */
export function recordCode(program) {
  const folder = mkdtempSync(path.join(tmpdir(), 'aops-build-'));
  const folders = ['CONFIG', 'DATA', 'CACHE'].map((kind) => [`AOPS_${kind}_DIR`, path.join(folder, kind.toLowerCase())]);
  const env = { PATH: process.env.PATH, HOME: folder, ...Object.fromEntries(folders) };
  writeFileSync(path.join(folder, 'adder.yaml'), procedure);
  try {
    for (const args of commands) {
      const { status, stderr } = spawnSync(process.execPath, [program, ...args], { cwd: folder, env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`aops ${args.join(' ')} ended with ${status}: ${stderr}`);
    }
  } finally {
    spawnSync(process.execPath, [program, 'local', 'down'], { cwd: folder, env });
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}
