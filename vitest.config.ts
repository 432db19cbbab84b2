import { defineConfig } from 'vitest/config';
import LongFirst from './test/support/long-first.ts';
import { patience } from './test/support/time-limits.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Colours and terminal detection must come from each test, never from the shell that runs the suite.
    env: { NO_COLOR: '', FORCE_COLOR: '', CI: '' },
    // In milliseconds. Some folders have another limit (test/support/time-limits.ts).
    provide: { timeLimit: 120_000 },
    expect: { poll: { timeout: patience.inside } },
    // A missing golden file fails the test, locally and in CI; `npx vitest run FILE -u` writes it.
    update: 'none',
    pool: 'forks',
    // Test files in one process share their imports: loading them again for each file took a third of the time.
    isolate: false,
    // In node_modules, by content: transforming the service again took a third of the CPU time of a short run.
    experimental: { fsModuleCache: true },
    reporters: ['default', './test/support/skipped-tests.ts'],
    // First, because the others create temporary files.
    globalSetup: [
      'test/support/memory-disk.ts',
      'test/support/empty-database.ts',
      'test/support/render-worker.ts',
      'test/support/postgres.ts',
    ],
    setupFiles: ['test/support/setup.ts'],
    // Most tests wait for sockets and processes, so it is faster to run more files at once than there are cores.
    maxWorkers: 4,
    sequence: { sequencer: LongFirst },
  },
});
