/** `--pull`: downloads the files of a run. Problems with the folder are detected before the run starts. */
import path from 'node:path';
import { AopsError, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { shellWord } from '../../base/shell.ts';
import { outcomeError } from '../../cli/following/run-outcome.ts';
import type { Context } from '../../cli/kit/context.ts';
import { runForHere, runWord } from '../../cli/names/run-names.ts';
import { namesNotUsable, pullFiles } from '../../cli/transfers/pull-files.ts';
import { LocalFolder } from '../../client/transfers/local-files.ts';
import type { Run } from '../../interface/types.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';
import { failedAfter } from './follow.ts';

/**
 * Checks that the files of a run can be saved: which files there are is only known after the run has ended, perhaps hours later.
 * @throws UsageError when the path is not a folder or the folder is not empty; AopsError `not_writable`
 */
export function checkPullFolder(context: Context, target: string, force: boolean): void {
  const folder = new LocalFolder(path.resolve(context.cwd, target));
  folder.checkItself();
  if (force || folder.isEmpty()) return;
  throw new UsageError(
    `${target} is not empty, and the run might create files with the same names. Nothing was started.`,
    'Choose a new folder for --pull, or overwrite existing files with --force.',
    'folder_not_empty',
  );
}

/**
 * Downloads all files of a run. The outcome of the run always comes first: if it did not complete, files that could not be saved are only
 * a warning. If files with the same names appeared during the run, the files of the run go to a separate folder.
 * @throws AopsError when the run completed and its files could not be saved
 */
export async function pullResults(context: Context, run: Run, target: string, force: boolean): Promise<void> {
  const note = (count: number, to: string): void => context.terminal.note(`Pulled ${pluralize(count, 'file')} to ${to}`);
  const pull = async (to: string): Promise<void> => {
    const { files, shortfall } = await pullFiles(context, { runId: run.id }, undefined, to, force);
    note(files.length, to);
    if (shortfall !== undefined) throw shortfall;
  };
  try {
    await pull(target).catch(async (error: unknown) => {
      if (!(error instanceof AopsError) || error.code !== 'file_exists') throw error;
      const separate = path.join(target, `run-${run.id}`);
      context.terminal.note(
        `${sanitizeLine(error.message)} It did not exist before the run, so the files of the run are saved in ${separate}.`,
      );
      await pull(separate);
    });
  } catch (error) {
    if (!(error instanceof AopsError) || context.signal.aborted) throw error;
    const word = runWord(runForHere(context, run));
    const isShort = error.code === namesNotUsable;
    const hint = isShort
      ? `Save such a file under a name of your choice: \`aops sandbox cat ${word} PATH > FILE\`.`
      : `Download them with \`aops sandbox pull ${word} --to ${shellWord(target)} --force\`.`;
    if (outcomeError(run, run) !== undefined) {
      const fact = isShort ? 'Not all files of the run were saved' : 'The files of the run were not saved';
      context.terminal.warn(`${fact}: ${sanitizeLine(error.message)} ${hint}`);
      return;
    }
    const { code, exit, details } = error;
    const loss = isShort ? 'not all of its files were saved' : 'its files were not saved';
    const failure = new AopsError(`The run completed, but ${loss}: ${error.message}`, {
      code,
      exit,
      hint,
      details,
      cause: error,
    });
    throw failedAfter(context, run, failure);
  }
}
