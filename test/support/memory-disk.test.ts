/** Which disk the tests use for their temporary files. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { newFolderIn } from './memory-disk.ts';
import { itNeeding } from './requirements.ts';
import { needsSmallDisk, smallDisk } from './small-disk.ts';
import { temporaryDirectory } from './temporary.ts';

const day = 24 * 60 * 60 * 1000;

it('creates an empty folder that all users can use, like /tmp', async () => {
  const disk = await temporaryDirectory();
  const folder = newFolderIn(disk, { bytes: 1 }) as string;
  expect(path.dirname(folder)).toBe(disk);
  expect(readdirSync(folder)).toEqual([]);
  expect(statSync(folder).mode & 0o7777).toBe(0o1777);
});

it('uses no disk that is missing, has too little space, or uses memory that is scarce', async () => {
  const disk = await temporaryDirectory();
  expect(newFolderIn(path.join(disk, 'missing'), { bytes: 1 })).toBeUndefined();
  expect(newFolderIn(disk, { bytes: 1e18, memory: 1e19 })).toBeUndefined();
  expect(newFolderIn(disk, { bytes: 1024, memory: 2047 })).toBeUndefined();
  expect(readdirSync(disk)).toEqual([]);
});

itNeeding(needsSmallDisk, 'uses no disk that is too small, or from which no programs run', async () => {
  const { folder } = await smallDisk(1024 * 1024);
  expect(newFolderIn(folder, { bytes: 2 * 1024 * 1024 })).toBeUndefined();
  expect(newFolderIn(folder, { bytes: 512 * 1024 })).toMatch(/aops-tests-/);
  spawnSync('mount', ['-o', 'remount,noexec', folder]);
  const folders = readdirSync(folder);
  expect(newFolderIn(folder, { bytes: 512 * 1024 })).toBeUndefined();
  expect(readdirSync(folder)).toEqual(folders);
});

it('removes what a test run of the day before left behind, and nothing else', async () => {
  const disk = await temporaryDirectory();
  const previous = newFolderIn(disk, { bytes: 1 }) as string;
  mkdirSync(path.join(disk, 'other'));
  const now = Date.now();
  newFolderIn(disk, { bytes: 1, now: now + day / 2 });
  expect(existsSync(previous)).toBe(true);
  newFolderIn(disk, { bytes: 1, now: now + 2 * day });
  expect(existsSync(previous)).toBe(false);
  expect(existsSync(path.join(disk, 'other'))).toBe(true);
});
