import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { operationGroups } from '../../../src/interface/operations.ts';

it('has a test file for every group of the contract, which calls all its operations', async () => {
  const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.test.ts') && name !== 'coverage.test.ts');
  const texts = await Promise.all(files.map((name) => readFile(join(import.meta.dirname, name), 'utf8')));
  const covered = texts.flatMap((text) =>
    [...text.matchAll(/\bcovers\(([^)]*)\)/g)].flatMap(([, names]) => [...(names as string).matchAll(/'(\w+)'/g)].map(([, name]) => name)),
  );
  expect(covered.sort()).toEqual(Object.keys(operationGroups).sort());
});
