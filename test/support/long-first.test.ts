import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { longFiles, longFirst } from './long-first.ts';

const root = path.join(import.meta.dirname, '../..');

it('starts the long files first, then those that start processes, and leaves the others in their order', () => {
  const [longest, second] = longFiles as [string, string];
  const files = ['test/b.test.ts', second, 'test/e2e/short.test.ts', 'test/a.test.ts', longest].map((name) => ({
    moduleId: `/home/me/aops/${name}`,
  }));
  expect(longFirst(files).map(({ moduleId }) => moduleId.slice('/home/me/aops/'.length))).toEqual([
    longest,
    second,
    'test/e2e/short.test.ts',
    'test/b.test.ts',
    'test/a.test.ts',
  ]);
});

it('knows only files that exist', () => {
  expect(longFiles.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
});
