/** The licences of bundled libraries. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { libraryFolder, licensesOf } from '../../scripts/licenses/licenses.ts';
import { temporaryFolder } from '../support/temporary.ts';

async function library(name: string, files: Record<string, string>): Promise<string> {
  const folder = path.join(await temporaryFolder(), 'node_modules', name);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name, version: '1.2.3', license: 'MIT' }));
  for (const [file, text] of Object.entries(files)) await writeFile(path.join(folder, file), text);
  return folder;
}

it('finds the innermost library that contains a module', () => {
  const module = (...words: string[]): string => path.join(path.sep, 'clone', ...words);
  expect(libraryFolder(module('src', 'main.ts'))).toBeUndefined();
  expect(libraryFolder(module('node_modules', 'undici', 'lib', 'api.js'))).toBe(module('node_modules', 'undici'));
  expect(libraryFolder(`\0${module('node_modules', 'a', 'node_modules', '@scope', 'b', 'index.js')}?commonjs`)).toBe(
    module('node_modules', 'a', 'node_modules', '@scope', 'b'),
  );
});

it('lists each library once, by name, with its licence and notices', async () => {
  const [b, a] = [
    await library('b', { 'license.md': 'Licence of B' }),
    await library('@a/a', { NOTICE: 'Notice of A', LICENSE: 'Licence of A' }),
  ];
  const text = licensesOf([b, a, b]);
  expect(text.match(/^(@a\/a|b) 1\.2\.3 \(MIT\)$/gm)).toEqual(['@a/a 1.2.3 (MIT)', 'b 1.2.3 (MIT)']);
  expect(text).toMatch(/Licence of A\n\nNotice of A\n[\s\S]*Licence of B\n$/);
});

it('rejects a library without a licence, unless the project stores the text', async () => {
  const unknown = await library('unlicensed', { 'README.md': '' });
  expect(() => licensesOf([unknown])).toThrow('Store the text from its repository in');
  expect(licensesOf([await library('standardwebhooks', {})])).toContain('Copyright (c) 2023 Svix');
});
