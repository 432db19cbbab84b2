/** Which files a tree in a sandbox has, and what is not a file. */
import { once } from 'node:events';
import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, it } from 'vitest';
import { maxDepth, walkFiles } from '../../../src/service/sandbox/walk.ts';
import { failureOf } from '../../client/harness.ts';
import { afterTest, temporaryDirectory } from '../../support/temporary.ts';

/** A workspace with two files, a link, and a socket. */
async function newWorkspace(): Promise<string> {
  const root = await realpath(await temporaryDirectory());
  await mkdir(path.join(root, 'd'));
  await writeFile(path.join(root, 'd', 'b'), 'b');
  await writeFile(path.join(root, 'a'), 'a');
  await symlink('a', path.join(root, 'link'));
  const server = createServer().listen(path.join(root, 'socket'));
  afterTest(() => new Promise<void>((resolve) => server.close(() => resolve())));
  await once(server, 'listening');
  return root;
}

const pathsOf = ({ files }: Awaited<ReturnType<typeof walkFiles>>) => files.map(({ displayPath }) => displayPath);
const isShown = () => false;

it('has only files, in their order, and without what is hidden', async () => {
  const root = await newWorkspace();
  expect(pathsOf(await walkFiles(root, '', isShown))).toEqual(['/workspace/a', '/workspace/d/b']);
  expect(pathsOf(await walkFiles(root, '', (file) => file.endsWith('/d')))).toEqual(['/workspace/a']);
  expect(pathsOf(await walkFiles(root, 'd/b', isShown))).toEqual(['/workspace/d/b']);
});

it.each([
  ['missing', 'file_not_found'],
  ['socket', 'not_a_file'],
])('cannot begin with something that is no file and no folder (%s)', async (input, error) => {
  expect(await failureOf(walkFiles(await newWorkspace(), input, isShown))).toMatchObject({ error });
});

it('can be as deep as a sandbox may be, and not deeper', async () => {
  const root = await realpath(await temporaryDirectory());
  const levels = (count: number) => Array.from({ length: count }, () => 'd').join('/');
  await mkdir(path.join(root, levels(maxDepth)), { recursive: true });
  await writeFile(path.join(root, levels(maxDepth), 'f'), 'f');
  expect(pathsOf(await walkFiles(root, '', isShown))).toEqual([`/workspace/${levels(maxDepth)}/f`]);
  await mkdir(path.join(root, levels(maxDepth + 1)));
  expect(await failureOf(walkFiles(root, '', isShown))).toMatchObject({ error: 'too_deep' });
  // Below another folder, the levels count from there.
  expect(pathsOf(await walkFiles(root, 'd', isShown))).toHaveLength(1);
});
