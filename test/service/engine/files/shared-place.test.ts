import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { filePlaceOf } from '../../../../src/service/engine/files/shared-place.ts';
import { itNeeding } from '../../../support/requirements.ts';
import { needsSmallDisk, smallDisk } from '../../../support/small-disk.ts';
import { temporaryDirectory } from '../../../support/temporary.ts';

const placeOf = async (folder: string): Promise<string> => (await filePlaceOf({ kind: 'folder', path: folder })).id;

it('a folder is recognised by all nodes that start at the same time, whatever its path', async () => {
  for (let round = 0; round < 20; round++) {
    const folder = path.join(await temporaryDirectory(), 'files');
    const ids = new Set(await Promise.all(Array.from({ length: 8 }, () => placeOf(folder))));
    expect([...ids]).toEqual([expect.stringMatching(/^folder [0-9a-f-]{36}$/)]);
    expect([...ids][0]).toContain((await readFile(path.join(folder, '.aops-file-store'), 'utf8')).trim());
  }
});

it('two folders are two places', async () => {
  expect(await placeOf(await temporaryDirectory())).not.toBe(await placeOf(await temporaryDirectory()));
});

itNeeding(needsSmallDisk, 'a folder on a full disk can be used as soon as there is space', async () => {
  const disk = await smallDisk(1024 * 1024);
  const folder = path.join(disk.folder, 'files');
  await mkdir(folder);
  await disk.fill();
  await expect(placeOf(folder)).rejects.toMatchObject({ code: 'ENOSPC' });
  await disk.free();
  expect(await placeOf(folder)).toMatch(/^folder [0-9a-f-]{36}$/);
});
