/** Shows a prompt, which has the terminal until it is answered, withdrawn or cancelled. */
import type { Clock } from '../../base/clock.ts';
import { paintFencedDiffs } from '../diff.ts';
import { PromptCancelled, PromptDismissed, promptNeeded } from '../prompt-errors.ts';
import { promptTheme } from '../prompt-theme.ts';
import { sanitize } from '../sanitize.ts';
import type { Terminal } from '../streams.ts';
import type { Styles } from '../style.ts';
import { type WidthOf, widthFor } from '../width.ts';
import { OpenPrompt } from './open-prompt.ts';
import type { PromptOptions, Question } from './question.ts';
import type { Base, Heading } from './view.ts';

export type Components = typeof import('./components.ts');
type Context = NonNullable<Parameters<Components['choose']>[1]>;
export type Show<Answer> = (components: Components, base: Base, context: Context) => Promise<Answer>;

/** Asks with the component that `show` chooses. @throws as documented at `Prompter` */
export async function showPrompt<Answer>(
  terminal: Terminal,
  clock: Clock,
  question: Question,
  { signal, unsolicited = false }: PromptOptions,
  show: Show<Answer>,
): Promise<Answer> {
  // The library would draw half a prompt where there is no terminal.
  if (!terminal.interactive) throw promptNeeded(question.message, question);
  const [components, styles, widthOf] = await Promise.all([import('./components.ts'), terminal.err.styles(), widthFor(['ä'])]);
  // With a signal that is already aborted, the library would leave its line reader open.
  signal?.throwIfAborted();
  const heading = fitHeading(terminal, question, styles, widthOf);
  const open = new OpenPrompt(terminal, clock, widthOf, unsolicited);
  const dismissal = new AbortController();
  const dismiss = (): void => dismissal.abort();
  const base: Base = { heading, theme: promptTheme(styles), open, escape: question.escape, onEscape: dismiss };
  const ends = [open.cancelController.signal, dismissal.signal, ...(signal ? [signal] : [])];
  const context: Context = {
    input: open.keyboard.input,
    output: open.frame,
    signal: AbortSignal.any(ends),
    // Read when the prompt ends: an answered prompt stays on the screen, a withdrawn one does not.
    get clearPromptOnDone(): boolean {
      return open.vanishes || signal?.aborted === true || dismissal.signal.aborted;
    },
  };
  const release = terminal.reserveForPrompt();
  try {
    const answer = show(components, base, context);
    // It may reject while the terminal is still being taken over.
    answer.catch(() => undefined);
    await open.show();
    return await answer;
  } catch (error) {
    signal?.throwIfAborted();
    if (dismissal.signal.aborted) throw new PromptDismissed();
    if (open.cancelController.signal.aborted || (error instanceof Error && error.name === 'ExitPromptError')) throw new PromptCancelled();
    throw error;
  } finally {
    open.close();
    release();
  }
}

/** Rows that a prompt needs besides its question: for a page of choices, a description, an error, and the keys. */
const otherRows = 14;

/**
 * The part of the question that the prompt itself shows. A prompt is redrawn with every key, which fails if it does not fit the
 * screen: context and details that are too long are printed once, above the prompt.
 */
function fitHeading(terminal: Terminal, { message, above, detail }: Question, styles: Styles, widthOf: WidthOf): Heading {
  const heading = { above: text(above), message: text(message), detail: paintFencedDiffs(text(detail), styles) };
  const { rows, columns } = terminal.err;
  const lines = [heading.above, heading.message, heading.detail].filter(Boolean).join('\n').split('\n');
  const rowCount = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
  if (rows === undefined || rowCount + otherRows <= rows) return heading;
  for (const part of [heading.above, heading.detail]) if (part) terminal.warn(part);
  return { above: '', message: heading.message, detail: '' };
}

const text = (part: string | undefined): string => (part === undefined ? '' : sanitize(part.trimEnd()));
