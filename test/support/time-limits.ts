/** How long a test may take before it counts as hanging. */

declare module 'vitest' {
  export interface ProvidedContext {
    /** The time limit of tests and hooks, in milliseconds. */
    timeLimit: number;
  }
}

/** Folders whose tests need neither a process nor much of a service. */
const quickFolders = /[\\/]test[\\/](base|client|config|terminal|watch)[\\/]/;
const quickFactor = 3;

/**
 * Time limits of tests and hooks in milliseconds, for a test file. They are for tests that hang, not for slow ones: a loop that
 * never ends should cost seconds, and a busy machine should not make a test fail. End-to-end tests start many processes.
 * @param limit the usual limit
 */
export function timeLimits(file: string, limit: number): { testTimeout: number; hookTimeout: number } {
  const milliseconds = quickFolders.test(file) ? limit / quickFactor : limit;
  return { testTimeout: milliseconds, hookTimeout: milliseconds };
}
