/** A text that the user edits until it is saved. It is in a file at all times, so that it survives whatever happens. */
import { readFile } from 'node:fs/promises';
import { AopsError, exitCodes, UsageError } from '../../../base/errors.ts';
import { readFailure } from '../../../base/read-failure.ts';
import { shellWord } from '../../../base/shell.ts';
import type { Context } from '../../../cli/kit/context.ts';
import { ServiceAnswerError } from '../../../client/errors.ts';
import { editorCommand, runEditor } from '../../../terminal/prompting/editor.ts';
import { describeProblems } from './problems.ts';

export interface EditedDocument<Saved> {
  text: string;
  /** The topic, for the name of the file. */
  name: string;
  /** Of the file, such as `.md`. */
  extension: string;
  /** What to do with a file that contains the text, which follows it. */
  advice: string;
  /** What is saved for an edited text. */
  compose(text: string): string;
  save(newText: string): Promise<Saved>;
}

/**
 * Resolves to what `save` returned, or to undefined if the user changed nothing.
 * @throws AopsError `editor_failed`, UsageError if the user gives up on a text that is not valid, and what `save` throws
 */
export async function editUntilSaved<Saved>(context: Context, document: EditedDocument<Saved>): Promise<Saved | undefined> {
  const { terminal, drafts } = context;
  const file = drafts.save(document.text, document.name, document.extension);
  let isChanged = false;
  let isNeeded = true;
  try {
    for (;;) {
      const problem = await openEditor(context, file);
      const text = await readFile(file, 'utf8').catch((error: unknown) => {
        throw readFailure(error, file);
      });
      isChanged = withoutEnd(text) !== withoutEnd(document.text);
      if (problem !== undefined)
        throw new AopsError(problem, { code: 'editor_failed', exit: exitCodes.failure, hint: 'Nothing was saved.' });
      const saved = isChanged ? await attempt(context, document, text) : undefined;
      if (saved === again) continue;
      isNeeded = false;
      if (!isChanged) terminal.note('No changes.');
      return saved;
    }
  } finally {
    if (isNeeded && isChanged) reportFile(context, file, document.advice);
    else drafts.remove(file);
  }
}

/** The text is not valid, and the user wants to edit it again. */
const again = Symbol('again');

async function attempt<Saved>(context: Context, document: EditedDocument<Saved>, text: string): Promise<Saved | typeof again> {
  const newText = document.compose(text);
  try {
    return await document.save(newText);
  } catch (error) {
    if (!(error instanceof ServiceAnswerError) || error.code !== 'invalid_procedure') throw error;
    const description = describeProblems(error.problems, newText);
    context.terminal.warn(description);
    if (await context.prompter.confirm({ message: 'Edit it again?', initial: true })) return again;
    throw new UsageError('Nothing was saved, because the text is not valid.', 'See `aops help procedures`.', error.code);
  }
}

/** Resolves to what went wrong with the editor, as a sentence, or to undefined. */
async function openEditor({ terminal, launcher }: Context, file: string): Promise<string | undefined> {
  const command = editorCommand(terminal.env) ?? (launcher.platform === 'win32' ? 'notepad' : 'vi');
  // Nothing else is written while the editor has the terminal.
  const release = terminal.reserveForPrompt();
  return runEditor(command, file, terminal.out.isTTY).finally(release);
}

/** Editors end the last line, which is no change. */
const withoutEnd = (text: string): string => text.replace(/\n$/, '');

function reportFile({ terminal }: Context, file: string, advice: string): void {
  terminal.warn(`Your text is in ${file}\n${terminal.suggested(advice)} ${shellWord(file)}`);
}
