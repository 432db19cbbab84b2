/** A text that may become long: on the line, pasted, or written in the person's editor. Nothing that was written is lost. */

import { sanitize } from '../sanitize.ts';
import type { Terminal } from '../streams.ts';
import type { Drafts } from './drafts.ts';
import { edit, editorCommand } from './editor.ts';
import type { InputQuestion, PromptOptions } from './question.ts';
import type { Show } from './show.ts';
import { answeredView, clipped } from './view.ts';
import { writeConfig } from './write-config.ts';

export type Ask = <Answer>(options: PromptOptions, show: Show<Answer>) => Promise<Answer>;

/** Asks until there is a valid text. A text that is there when it ends without an answer goes to the question's `onUnsent`. */
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
  const changed = (now: string): void => {
    text = now;
  };
  try {
    for (let again = options; ; again = { ...options, unsolicited: false }) {
      const config = { ...question, problem, text, changed, ...(command === undefined ? {} : { onEmpty: 'open your editor' }) };
      const line = await ask(again, ({ write }, base, context) => write(writeConfig(config, base), context));
      if (line !== undefined || command === undefined) return line ?? '';
      // While the editor is open it has the terminal to itself: nothing is written beside it, and it is not withdrawn.
      const release = terminal.reserveForPrompt();
      const edited = await edit({ command, drafts, stdout: terminal.out.isTTY }, '', message, editor ?? '').finally(release);
      text = edited.text.trim();
      options.signal?.throwIfAborted();
      problem = edited.problem ?? (text === '' ? 'The editor saved no text.' : complaint(validate(text)));
      if (problem !== undefined) continue;
      await showAnswer(terminal, question, text);
      return text;
    }
  } catch (error) {
    if (text.trim() !== '') onUnsent?.(text);
    throw error;
  }
}

const complaint = (valid: true | string): string | undefined => (valid === true ? undefined : valid);

/** What was written in the editor, as an answer at the prompt would stay on the screen. */
async function showAnswer(terminal: Terminal, { message, above, detail }: InputQuestion, text: string): Promise<void> {
  const { success, bold, accent } = await terminal.err.styles();
  const theme = { prefix: { done: success('✓') }, style: { message: bold, answer: accent } };
  const heading = { above: sanitize(above ?? '').trimEnd(), message: sanitize(message), detail: sanitize(detail ?? '').trimEnd() };
  terminal.warn(answeredView({ heading, theme }, clipped(sanitize(text).split('\n'))));
}
