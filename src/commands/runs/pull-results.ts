/** `--pull`: the files of a run that was started and followed. What can be wrong with the folder is found before the run starts. */
import path from 'node:path';
import { AopsError, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { shellWord } from '../../base/shell.ts';
import { outcomeError } from '../../cli/following/run-outcome.ts';
import type { Context } from '../../cli/kit/context.ts';
import { runForHere, runWord } from '../../cli/names/run-names.ts';
import { pullFiles } from '../../cli/transfers/pull-files.ts';
import { LocalFolder } from '../../client/transfers/local-files.ts';
import type { Run } from '../../interface/types.ts';
import { failedAfter } from './follow.ts';

/**
 * Makes sure that the files of a run will have a place: which files those are is only known when the run has ended, perhaps hours from now.
 * @throws UsageError when the path is not a folder or the folder is not empty; AopsError `not_writable`
 */
export function checkPullFolder(context: Context, given: string, force: boolean): void {
  const folder = new LocalFolder(path.resolve(context.cwd, given));
  folder.checkItself();
  if (force || folder.isEmpty()) return;
  throw new UsageError(
    `${given} is not empty, and the run may write files with the same names. Nothing was started.`,
    'Choose a new folder for --pull, or let the files of the run replace what is there with --force.',
    'folder_not_empty',
  );
}

/**
 * Downloads everything a run has. Never hides how the run ended: where it did not complete, files that could not be saved are a note. When somebody put
 * files in their way during the run, they go into a folder of their own.
 * @throws AopsError when the run completed and its files could not be saved
 */
export async function pullResults(context: Context, run: Run, given: string, force: boolean): Promise<void> {
  const note = (count: number, to: string): void => context.terminal.note(`Pulled ${pluralize(count, 'file')} to ${to}`);
  const pull = async (to: string): Promise<void> => note((await pullFiles(context, { runId: run.id }, undefined, to, force)).length, to);
  try {
    await pull(given).catch(async (error: unknown) => {
      if (!(error instanceof AopsError) || error.code !== 'file_exists') throw error;
      const apart = path.join(given, `run-${run.id}`);
      context.terminal.note(`${error.message} It was not there before the run, so the files of the run go to ${apart}.`);
      await pull(apart);
    });
  } catch (error) {
    if (!(error instanceof AopsError) || context.signal.aborted) throw error;
    const onward = `Download them with \`aops sandbox pull ${runWord(runForHere(context, run))} --to ${shellWord(given)} --force\`.`;
    if (outcomeError(run, run) !== undefined) {
      context.terminal.warn(`The files of the run were not saved: ${error.message} ${onward}`);
      return;
    }
    const { code, exit, details } = error;
    const failure = new AopsError(`The run completed, but its files were not saved: ${error.message}`, {
      code,
      exit,
      hint: onward,
      details,
      cause: error,
    });
    throw failedAfter(context, run, failure);
  }
}
