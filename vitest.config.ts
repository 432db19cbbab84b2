import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Colours and terminal detection must come from each test, never from the shell that runs the suite.
    env: { NO_COLOR: '', FORCE_COLOR: '', CI: '' },
    // A limit for what hangs, not for what is slow: end-to-end tests start many processes, also on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A missing golden text fails, here as in CI; `npx vitest run FILE -u` writes them.
    update: 'none',
    pool: 'forks',
    // Files that run in one process share what they import: reading it again for each was a third of the time.
    isolate: false,
    reporters: ['default', './test/support/skipped-tests.ts'],
    globalSetup: ['test/support/empty-database.ts', 'test/support/render-worker.ts'],
    setupFiles: ['test/support/setup.ts'],
    // Most tests wait for sockets and processes: more files at once than cores is faster.
    maxWorkers: 4,
  },
});
