/** The single-file executable, if it has been built: what only it does. The other tests here run with it if AOPS_TEST_BIN names it. */
import { existsSync, statSync } from 'node:fs';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { Machine, project } from '../support/machine.ts';
import { itNeeding, needsPosix } from '../support/requirements.ts';

const executable = path.join(project, 'build/aops');
const needsExecutable = existsSync(executable) ? needsPosix : '`npm run build:binary` has not been run';

/** A machine without Node and other programs. */
async function emptyMachine(): Promise<Machine> {
  const machine = await Machine.create();
  machine.env.PATH = path.join(machine.folder, 'nothing');
  delete machine.env.NODE_COMPILE_CACHE;
  return machine;
}

const run = async (machine: Machine, ...argv: string[]) => machine.run(executable, argv);

/** The folder of the files that the executable has unpacked. */
const unpacked = async (machine: Machine): Promise<string> => {
  const folder = path.join(machine.folder, 'cache/executable');
  return path.join(folder, ...(await readdir(folder)));
};

itNeeding(needsExecutable, 'needs no Node, and unpacks nothing for commands without the service', async () => {
  const machine = await emptyMachine();
  const { version } = JSON.parse(await readFile(path.join(project, 'package.json'), 'utf8')) as { version: string };
  expect(await run(machine, '--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  expect(await run(machine, 'help', 'exit-codes')).toMatchObject({ code: 0, stdout: expect.stringContaining('13'), stderr: '' });
  expect(await run(machine, 'commands', '--json', '--jq', '.data[0].name? // "no name"')).toMatchObject({ code: 0, stderr: '' });
  expect(await run(machine, 'completion', 'bash')).toMatchObject({ code: 0, stdout: expect.stringContaining('complete') });
  expect(await run(machine, 'nonsense')).toMatchObject({ code: 2, stderr: expect.stringContaining('Unknown command') });
  expect(existsSync(path.join(machine.folder, 'cache/executable'))).toBe(false);
});

itNeeding(needsExecutable, 'starts the service and its threads, and repairs damaged files', async () => {
  const machine = await emptyMachine();
  const procedure = await machine.file('p.yaml', 'version: 1\nsteps:\n  - say: "{{ 1 | plus: 2 }} is the sum."\n');
  const start = async (): Promise<void> => {
    expect(await run(machine, 'local', 'up', '--exec', 'off')).toMatchObject({ code: 0 });
  };
  await start();
  try {
    expect(await run(machine, 'agents', 'create', 'adder', '--procedure', procedure)).toMatchObject({ code: 0 });
    expect(await run(machine, 'runs', 'start', '--agent', 'adder', '--watch')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('3 is the sum.'),
    });
    expect(await run(machine, 'runs', 'list', '--json', '--jq', '.data | length')).toMatchObject({ code: 0, stdout: '1\n' });
  } finally {
    await run(machine, 'local', 'down');
  }
  const folder = await unpacked(machine);
  expect(statSync(folder).mode & 0o077).toBe(0);
  const damaged = path.join(folder, 'render-worker.js');
  const content = await readFile(damaged, 'utf8');
  await writeFile(damaged, 'process.exit(1)');
  await start();
  try {
    expect(await readFile(damaged, 'utf8')).toBe(content);
    expect(await run(machine, 'runs', 'start', '--agent', 'adder', '--watch')).toMatchObject({ code: 0 });
  } finally {
    await run(machine, 'local', 'down');
  }
});

itNeeding(needsExecutable, 'refuses to load code from a folder that other users can change', async () => {
  const machine = await emptyMachine();
  await run(machine, 'doctor', '--offline');
  await chmod(await unpacked(machine), 0o777);
  const result = await run(machine, 'serve', '--port', '0');
  expect(result.code).not.toBe(0);
  expect(result.stderr).toMatch(/cannot be unpacked to .*: other users can change this folder\. Set AOPS_CACHE_DIR/);
});
