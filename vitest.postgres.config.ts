/**
 * Runs the tests of the service on Postgres: all of them, or with `--mode quick` those that `npm test` runs in addition to the others. The
 * tests of Postgres itself run with all others.
 */
import process from 'node:process';
import { defineConfig } from 'vitest/config';
import { programs } from './test/support/postgres-programs.ts';
import base from './vitest.config.ts';

/** Those that change runs, cases, and keys at the same time, and those with many kinds of queries. */
const quick = [
  'test/service/engine/runs.test.ts',
  'test/service/http/cases.test.ts',
  'test/service/http/human-requests.test.ts',
  'test/service/http/operations.test.ts',
  'test/service/http/idempotency/idempotency.test.ts',
  'test/service/http/idempotency/idempotency-bounds.test.ts',
];

/** All others of the service, without those in `excluded`. */
const all = 'test/service/**/*.test.ts';

/** Why tests of the service do not run on Postgres. Single tests of other files are excluded with `needsSqlite`. */
const excluded: Readonly<Record<string, string>> = {
  'test/service/store/**': 'they are about one database each, and run with all others',
  'test/service/{sandbox,contained,words,browser,oauth,plans}/**': 'they do not start a service, or only to contain a program',
  'test/service/exports/**': 'they are about both databases, and run with all others',
  'test/service/{backup,engine/backup}/**': 'they copy the files of SQLite',
  'test/service/engine/crashes.test.ts': 'they copy the files of SQLite at the moment of a crash',
  'test/service/engine/runs/statements.test.ts': 'they count the statements of SQLite',
  'test/service/http/floor.test.ts': 'they compare the service with SQLite',
  'test/service/http/durability.test.ts': 'they are about the write-ahead log of SQLite',
  'test/service/http/{damaged-data,failing-disk}.test.ts': 'they damage the files of SQLite',
  'test/service/{full-disk,host-trouble}.test.ts': 'they make writing the files of SQLite fail',
};

const isInstalled = process.env.AOPS_TEST_DATABASE_URL !== undefined || programs !== undefined;
if (!isInstalled) process.stderr.write('Postgres is not installed, so its half of the tests is skipped.\n');

export default defineConfig(({ mode }) => ({
  ...base,
  test: {
    ...base.test,
    include: isInstalled ? (mode === 'quick' ? quick : [all]) : [],
    exclude: Object.keys(excluded),
    setupFiles: [...(base.test?.setupFiles ?? []), 'test/service/helpers/require-lock-order.ts'],
    passWithNoTests: !isInstalled,
    env: { ...base.test?.env, AOPS_TEST_DATABASE: 'postgres' },
  },
}));
