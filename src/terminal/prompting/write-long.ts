/** A prompt for a text that may be long: typed, pasted, or written in the user's editor. No text that was written is lost. */
import { sanitize } from '../sanitize.ts';
import type { Terminal } from '../streams.ts';
import type { Drafts } from './drafts.ts';
import { edit, editorCommand } from './editor.ts';
import type { InputQuestion, PromptOptions } from './question.ts';
import type { Show } from './show.ts';
import { answeredView, clipLines } from './view.ts';
import { writeConfig } from './write-config.ts';

export type Ask = <Answer>(options: PromptOptions, show: Show<Answer>) => Promise<Answer>;

/** Asks until there is a valid text. If it ends without an answer, the text written so far goes to the question's `onUnsent`. */
export async function writeLong(
  terminal: Terminal,
  drafts: Drafts,
  ask: Ask,
  question: InputQuestion,
  options: PromptOptions,
): Promise<string> {
  const { validate = () => true, onUnsent, editor, message } = question;
  const command = editor === undefined ? undefined : editorCommand(terminal.env);
  let text = '';
  let problem: string | undefined;
  const onChange = (current: string): void => {
    text = current;
  };
  try {
    for (let promptOptions = options; ; promptOptions = { ...options, unsolicited: false }) {
      const config = { ...question, problem, text, onChange, ...(command === undefined ? {} : { onEmpty: 'open your editor' }) };
      const line = await ask(promptOptions, ({ write }, base, context) => write(writeConfig(config, base), context));
      if (line !== undefined || command === undefined) return line ?? '';
      // An open editor has exclusive use of the terminal: nothing else is written, and the prompt is not withdrawn.
      const release = terminal.reserveForPrompt();
      const editedText = await edit({ command, drafts, stdout: terminal.out.isTTY }, '', message, editor ?? '').finally(release);
      text = editedText.text.trim();
      options.signal?.throwIfAborted();
      problem = editedText.problem ?? (text === '' ? 'The editor saved no text.' : problemOf(validate(text)));
      if (problem !== undefined) continue;
      await showAnswer(terminal, question, text);
      return text;
    }
  } catch (error) {
    if (text.trim() !== '') onUnsent?.(text);
    throw error;
  }
}

const problemOf = (valid: true | string): string | undefined => (valid === true ? undefined : valid);

/** Shows the text from the editor in the form in which an answered prompt stays on the screen. */
async function showAnswer(terminal: Terminal, { message, above, detail }: InputQuestion, text: string): Promise<void> {
  const { success, bold, accent } = await terminal.err.styles();
  const theme = { prefix: { done: success('✓') }, style: { message: bold, answer: accent } };
  const heading = { above: sanitize(above ?? '').trimEnd(), message: sanitize(message), detail: sanitize(detail ?? '').trimEnd() };
  terminal.warn(answeredView({ heading, theme }, clipLines(sanitize(text).split('\n'))));
}
