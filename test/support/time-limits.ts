/** How long a test, or one step of it, may take before it counts as hanging. */

declare module 'vitest' {
  export interface ProvidedContext {
    /** The time limit of tests and hooks, in milliseconds. */
    timeLimit: number;
  }
}

/** Folders whose tests need neither a process nor much of a service. */
const quickFolders = /[\\/]test[\\/](base|client|config|terminal|watch)[\\/]/;
const quickFactor = 0.25;

/** Those whose tests start many processes: Node takes several times as long to start on one machine as on another. */
const slowFolders = /[\\/]test[\\/]e2e[\\/]/;
const slowFactor = 2;

/**
 * How long a test waits for one condition in this process, and outside of it, in milliseconds: less than for the whole test, whose error
 * would not name the condition.
 */
export const patience = { inside: 25_000, outside: 50_000 };

/**
 * Time limits of tests and hooks in milliseconds, for a test file. They are for tests that hang, not for slow ones: a loop that
 * never ends should cost as little as possible, and a busy machine should not make a test fail.
 * @param limit the usual limit
 */
export function timeLimits(file: string, limit: number): { testTimeout: number; hookTimeout: number } {
  const milliseconds = limit * (quickFolders.test(file) ? quickFactor : slowFolders.test(file) ? slowFactor : 1);
  return { testTimeout: milliseconds, hookTimeout: milliseconds };
}
