/** Runs tests that support both databases on Postgres. The tests of Postgres itself run with all others. */
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import { programs } from './test/support/postgres-programs.ts';
import base from './vitest.config.ts';

/** Those that change runs, cases, and keys at the same time, and those with many kinds of queries. */
const files = [
  'test/service/engine/runs.test.ts',
  'test/service/http/cases.test.ts',
  'test/service/http/human-requests.test.ts',
  'test/service/http/operations.test.ts',
  'test/service/http/idempotency/idempotency.test.ts',
  'test/service/http/idempotency/idempotency-bounds.test.ts',
];

const isInstalled = process.env.AOPS_TEST_DATABASE_URL !== undefined || programs !== undefined;
if (!isInstalled) process.stderr.write('Postgres is not installed, so its half of the tests is skipped.\n');

export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: isInstalled ? files : [],
    passWithNoTests: !isInstalled,
    env: { ...base.test?.env, AOPS_TEST_DATABASE: 'postgres' },
  },
});
