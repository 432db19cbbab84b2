/** The exit code of a command that did the same for several things. */
import { type ExitCode, exitCodes } from './errors.ts';

/**
 * Exit codes from the worst to the best: first what must be looked into because nobody knows what happened, then failures of the command,
 * then what the service refused, and last the outcomes of runs. Documented in docs/exit-codes.md.
 */
export const exitCodesByGravity: readonly ExitCode[] = [
  exitCodes.outcomeUnknown,
  exitCodes.failure,
  exitCodes.terminated,
  exitCodes.interrupted,
  exitCodes.timeout,
  exitCodes.unavailable,
  exitCodes.rateLimited,
  exitCodes.auth,
  exitCodes.forbidden,
  exitCodes.usage,
  exitCodes.notFound,
  exitCodes.conflict,
  exitCodes.runFailed,
  exitCodes.runInterrupted,
  exitCodes.runWaiting,
  exitCodes.done,
];

/** The worst of several exit codes; 0 if there are none. */
export function worstExit(codes: Iterable<ExitCode>): ExitCode {
  const present = new Set(codes);
  return exitCodesByGravity.find((code) => present.has(code)) ?? exitCodes.done;
}
