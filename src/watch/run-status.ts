/** What the status of a run means to a command that waits for it. */
import { type ExitCode, exitCodes } from '../base/errors.ts';

/** Whether polling ends (interface part 3.1). It continues for unknown statuses. */
export const isFinal = (status: string): boolean => status === 'completed' || status === 'failed' || status === 'interrupted';

/** The exit code for the outcome of a run: the same for every command that watches runs, even if the run ended long ago. */
export function exitOfRun(status: string): ExitCode {
  if (status === 'failed') return exitCodes.runFailed;
  if (status === 'interrupted') return exitCodes.runInterrupted;
  if (status === 'waiting') return exitCodes.runWaiting;
  return exitCodes.done;
}

/** Statuses in which a run sends no messages until its status changes. */
export const quietStatuses: ReadonlySet<string | null> = new Set(['not_started', 'pending', 'waiting']);
