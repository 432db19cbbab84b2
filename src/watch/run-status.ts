/** What a run's status means to the one who waits for it. */
import { type ExitCode, exitCodes } from '../base/errors.ts';

/** Whether polling ends (interface part 3.1). Statuses not known here keep it going. */
export const isFinal = (status: string): boolean => status === 'completed' || status === 'failed' || status === 'interrupted';

/** The exit code of a run's outcome: the same for every command that follows runs, also for one that ended long ago. */
export function exitOfRun(status: string): ExitCode {
  if (status === 'failed') return exitCodes.runFailed;
  if (status === 'interrupted') return exitCodes.runInterrupted;
  if (status === 'waiting') return exitCodes.runWaiting;
  return exitCodes.done;
}
