/** Requirements of some tests. If one is missing, the tests are skipped, and their names contain the reason. */
import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { describe, it } from 'vitest';

/** Why tests with a requirement cannot run on this machine; undefined if they can. */
export type Missing = string | undefined;

/** @param program a name on the search path that starts with `args` and ends by itself */
export const needsProgram = (program: string, args: readonly string[]): Missing =>
  spawnSync(program, args, { stdio: 'ignore' }).error === undefined ? undefined : `${program} is not installed`;

export const needsPosix: Missing = process.platform === 'win32' ? 'Windows has no POSIX file modes, links, and limits' : undefined;

export const needsLinux: Missing =
  process.platform === 'linux' ? undefined : 'only Linux shows the environment, the limits, and the open files of processes';

export const needsRoot: Missing = process.getuid?.() === 0 ? undefined : 'the tests do not run as root';

/** Adds a reason to a test's name, where the reporter of skipped tests finds it. */
const skippedBecause = (name: string, missing: Missing): string => (missing === undefined ? name : `${name} [skipped: ${missing}]`);

/** The reason in the full name of a skipped test, if any. */
export const reasonIn = (fullName: string): string | undefined => /\[skipped: ([^\]]+)\]/.exec(fullName)?.[1];

/** A test that runs only if nothing is missing. `milliseconds` is its time limit, unless it is the usual one. */
export const itNeeding = (missing: Missing, name: string, test: () => Promise<void> | void, milliseconds?: number): void => {
  it.skipIf(missing !== undefined)(skippedBecause(name, missing), test, milliseconds);
};

/** Tests that run only if nothing is missing. */
export const describeNeeding = (missing: Missing, name: string, tests: () => void): void => {
  describe.skipIf(missing !== undefined)(skippedBecause(name, missing), tests);
};
