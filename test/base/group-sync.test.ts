/** Files that are synced together, through a shell that starts the program for it. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { syncFiles } from '../../src/base/group-sync.ts';
import { syncFileSystem } from '../../src/base/sync-shell.ts';
import { eventually } from '../support/eventually.ts';
import { isAlive } from '../support/processes.ts';
import { itNeeding, needsLinux } from '../support/requirements.ts';
import { temporaryFolder } from '../support/temporary.ts';

async function filesIn(name: string, count: number): Promise<string[]> {
  const folder = path.join(await temporaryFolder(), name);
  await mkdir(folder);
  const files = Array.from({ length: count }, (_, index) => path.join(folder, `${index}`));
  for (const file of files) await writeFile(file, 'content');
  return files;
}

/** The IDs of the processes that this one has started. */
async function children(): Promise<number[]> {
  const text = await readFile(`/proc/self/task/${process.pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

it.each(['plain', 'with spaces ', "it's $HOME", 'back\\slash', 'line\nbreak', 'end\\'])(
  'files in a folder named %j are synced',
  async (name) => {
    await syncFiles(await filesIn(name, 60));
    await syncFiles(await filesIn(name, 2));
  },
);

it('a file that is missing is an error, also if it is one of few', async () => {
  await expect(syncFiles(['/nowhere/a'])).rejects.toMatchObject({ code: 'ENOENT' });
  await expect(syncFiles(Array.from({ length: 60 }, () => '/nowhere/a'))).rejects.toMatchObject({ code: 'ENOENT' });
});

itNeeding(needsLinux, 'one shell syncs everything, and another one is started if it has ended', async () => {
  const before = await children();
  const folder = await temporaryFolder();
  expect(await Promise.all([folder, '/nowhere', folder].map(syncFileSystem))).toEqual([true, false, true]);
  const [shell, ...others] = (await children()).filter((pid) => !before.includes(pid));
  expect(others).toEqual([]);
  if (shell !== undefined) {
    process.kill(shell, 'SIGKILL');
    await eventually('it has ended', () => !isAlive(shell));
  }
  // A request to a shell that has just ended fails, and the caller syncs in another way.
  await syncFileSystem(folder);
  expect(await syncFileSystem(folder)).toBe(true);
});
