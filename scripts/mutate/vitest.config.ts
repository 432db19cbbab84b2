/** The configuration of the tests, with all mutants of the chosen files behind their switches. */
import path from 'node:path';
import process from 'node:process';
import { mergeConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { instrument, mutantsOf } from './mutants.js';

const root = path.resolve(import.meta.dirname, '../..');
/** Files below the root, with the number of the first mutant of each. */
const files = new Map<string, number>(JSON.parse(process.env.AOPS_MUTATE_FILES ?? '[]') as [string, number][]);

const config = mergeConfig(base, {
  root,
  plugins: [
    {
      name: 'mutants',
      enforce: 'pre' as const,
      transform(source: string, id: string) {
        const first = files.get(path.relative(root, id));
        return first === undefined ? undefined : { code: instrument(source, mutantsOf(source), first), map: null };
      },
    },
  ],
  test: {
    // The mutants of a run are not part of what identifies a cached module.
    experimental: { fsModuleCache: false },
    runner: path.join(root, 'scripts/mutate/runner.js'),
    exclude: ['test/e2e/**', 'test/docs/**'],
    maxWorkers: 1,
    fileParallelism: false,
  },
});

// Failures are what is wanted here: nobody reads them.
config.test.reporters = [{}];

export default config;
