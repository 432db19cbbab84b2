/** A user that the system does not know, as in containers that choose a number for it: there is no home directory. */
import { execFile } from 'node:child_process';
import { chown } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { commandLine, Machine } from '../support/machine.ts';
import { itNeeding, needsRoot } from '../support/requirements.ts';

const unknownUser = 54_321;

itNeeding(needsRoot, 'an unknown user needs only folders of its own', async () => {
  const machine = await Machine.create();
  for (const folder of ['', 'tmp']) await chown(path.join(machine.folder, folder), unknownUser, unknownUser);
  const { HOME: _home, AOPS_CONFIG_DIR: config, AOPS_DATA_DIR: data, AOPS_CACHE_DIR: cache, ...env } = machine.env;
  delete env.NODE_COMPILE_CACHE;
  const aops = async (variables: Record<string, string | undefined>, ...argv: string[]): Promise<string> => {
    const [program, args] = commandLine(...argv);
    const user = { uid: unknownUser, gid: unknownUser };
    const { stdout } = await promisify(execFile)(program, args, { ...user, cwd: machine.folder, env: { ...env, ...variables } });
    return stdout;
  };
  expect(await aops({}, '--version')).toMatch(/^\d/);
  expect(await aops({}, '--help')).toContain('Usage: aops');
  await expect(aops({}, 'runs', 'list')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Set HOME to the path of a folder, or set AOPS_CONFIG_DIR, AOPS_DATA_DIR, and AOPS_CACHE_DIR.'),
  });

  const folders = { AOPS_CONFIG_DIR: config, AOPS_DATA_DIR: data, AOPS_CACHE_DIR: cache };
  await aops(folders, 'local', 'up');
  await machine.file('hello.yaml', 'version: 1\nsteps:\n  - say: hello\n');
  await aops(folders, 'agents', 'create', 'hello', '--procedure', 'hello.yaml');
  expect(await aops(folders, 'runs', 'start', '--agent', 'hello', '--watch')).toContain('hello');
  await aops(folders, 'local', 'down');
});
