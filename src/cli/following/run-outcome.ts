/** How watching a run ends: with the exit code of the run's outcome, which is the same for every command. */
import { AopsError, exitCodes } from '../../base/errors.ts';
import type { HumanRequest, Run } from '../../interface/types.ts';
import { exitOfRun } from '../../watch/run-status.ts';
import { type NamedRun, runTitle, runWord } from '../names/run-names.ts';
import { requestLine, respondCommand } from './requests.ts';

/**
 * The error for a run that failed or was interrupted; undefined when it completed.
 * @param namedRun the run as named in messages; see `runForHere`
 */
export function outcomeError(run: Run, namedRun: NamedRun): AopsError | undefined {
  const exit = exitOfRun(run.status);
  if (exit === exitCodes.runFailed) {
    return new AopsError(`Run ${runTitle(namedRun)} failed${run.error ? `: ${run.error}` : '.'}`, {
      code: 'run_failed',
      exit,
      hint: `See what it did with \`aops runs messages ${runWord(namedRun)}\`.`,
    });
  }
  if (exit === exitCodes.runInterrupted) {
    return new AopsError(`Run ${runTitle(namedRun)} was interrupted.`, {
      code: 'run_interrupted',
      exit,
      hint: `Resume it by sending a message: \`aops runs send ${runWord(namedRun)} MESSAGE\`.`,
    });
  }
  return undefined;
}

/** The error for a run that waits for a person when prompting is not possible: exit 12. */
export function waitingError(namedRun: NamedRun, request: HumanRequest | null): AopsError {
  const requestText = request ? `: ${requestLine(request)}` : '.';
  const answer = request ? respondCommand(runWord(namedRun), request) : `aops runs get ${runWord(namedRun)}`;
  return new AopsError(`Run ${runTitle(namedRun)} is waiting for a person${requestText}`, {
    code: 'run_waiting',
    exit: exitCodes.runWaiting,
    hint: `Answer with \`${answer}\`, then continue with \`aops runs watch ${runWord(namedRun)}\`.`,
  });
}
