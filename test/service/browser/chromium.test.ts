/** Which browser the service uses. */
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { findChromium } from '../../../src/service/browser/chromium.ts';
import { temporaryFolder } from '../../support/temporary.ts';

/** A folder with programs of these names. */
async function folderWith(...names: string[]): Promise<string> {
  const folder = await temporaryFolder();
  for (const name of names) await symlink(process.execPath, path.join(folder, name));
  return folder;
}

it('prefers a browser without windows, then Chromium, wherever it is on the search path', async () => {
  const [first, second, third] = await Promise.all([
    folderWith('google-chrome'),
    folderWith('chromium'),
    folderWith('chromium-headless-shell'),
  ]);
  const find = (...folders: string[]) => findChromium({ policy: 'on', searchPath: folders.join(path.delimiter), places: [] });
  expect(await find(first, second, third)).toBe(path.join(third, 'chromium-headless-shell'));
  expect(await find(first, second)).toBe(path.join(second, 'chromium'));
  expect(await find(first)).toBe(path.join(first, 'google-chrome'));
});
