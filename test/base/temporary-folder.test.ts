import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { makeTemporaryFolder } from '../../src/base/temporary-folder.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

test('a temporary folder is private, and every call creates another one', async () => {
  folders.push(await makeTemporaryFolder('aops-test-'), await makeTemporaryFolder('aops-test-'));
  const [first = '', second] = folders;
  expect(first).not.toBe(second);
  expect(path.dirname(first)).toBe(tmpdir());
  expect(path.basename(first)).toMatch(/^aops-test-\w+$/);
  expect((await stat(first)).mode & 0o777).toBe(0o700);
});

test('without a usable place for temporary files, the error says how to choose another one', async () => {
  const parent = await mkdtemp(path.join(tmpdir(), 'aops-test-'));
  folders.push(parent);
  const missing = path.join(parent, 'missing');
  await expect(makeTemporaryFolder('aops-test-', missing)).rejects.toMatchObject({
    code: 'not_writable',
    message: `No temporary files can be created. ${missing} does not exist.`,
    hint: 'Set TMPDIR to a folder in which you can create files.',
  });
});
