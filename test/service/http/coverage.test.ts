import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, type RunnerTask } from 'vitest';
import { operationGroups } from '../../../src/interface/operations.ts';
import { findUncalled } from '../helpers/coverage.ts';

it('has a test file for every group of the contract, which calls all its operations', async () => {
  const files = (await readdir(import.meta.dirname)).filter((name) => name.endsWith('.test.ts') && name !== 'coverage.test.ts');
  const texts = await Promise.all(files.map((name) => readFile(join(import.meta.dirname, name), 'utf8')));
  const coveredOperations = texts.flatMap((text) =>
    [...text.matchAll(/\bcovers\(([^)]*)\)/g)].flatMap(([, names]) => [...(names as string).matchAll(/'(\w+)'/g)].map(([, name]) => name)),
  );
  expect(coveredOperations.sort()).toEqual(Object.keys(operationGroups).sort());
});

it.each([
  ['reports operations that were never called if all tests passed', ['pass', 'pass'], ['getRun']],
  ['leaves the report to a test that failed', ['pass', 'fail'], []],
  ['reports nothing if a test was skipped after a failure elsewhere', ['pass', 'skip'], []],
] as const)('%s', (_, states, reportedIds) => {
  const tests = states.map((state) => ({ type: 'test', result: { state } }));
  const tasks = [tests[0], { type: 'suite', tasks: tests.slice(1) }] as RunnerTask[];
  expect(findUncalled(['getRun', 'listRuns'], new Set(['listRuns']), tasks)).toEqual(reportedIds);
});
