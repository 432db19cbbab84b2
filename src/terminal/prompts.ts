/**
 * Prompts for the user at the terminal, on stderr: ready-made prompts where those are enough, and our own components on
 * @inquirer/core for prompts that decide human requests or hold texts that must not be lost. Only keys pressed after a question
 * could be read answer it: earlier input is discarded. Texts are sanitised, a prompt whose signal is aborted disappears, and
 * without an interactive terminal the error names the flag that answers instead.
 */
import type { Clock } from '../base/clock.ts';
import type { Drafts } from './prompting/drafts.ts';
import type { Choice, InputQuestion, PlainQuestion, PromptOptions, Question, Withdrawal } from './prompting/question.ts';
import type { Show } from './prompting/show.ts';
import { sanitize, sanitizeLine } from './sanitize.ts';
import type { Terminal } from './streams.ts';

export { PromptCancelled, PromptDismissed } from './prompt-errors.ts';
export type { Choice, InputQuestion, PlainQuestion, PromptOptions, Question, Withdrawal } from './prompting/question.ts';

type ChoiceQuestion<Value> = Question & { choices: readonly Choice<Value>[] };

/**
 * Every method rejects with AopsError `prompt_needed` (exit 2) without an interactive terminal, with `PromptCancelled` (exit 130)
 * on Ctrl-C or a closed terminal, with `PromptDismissed` on Escape where that is offered, and with the signal's reason when withdrawn.
 */
export interface Prompter {
  /** Only "y" and "yes" confirm, in upper or lower case; any word other than those, "n" and "no" makes the prompt ask again. */
  confirm(question: PlainQuestion & { initial?: boolean }, options?: Withdrawal): Promise<boolean>;
  /** One line of text; line ends in pasted text become spaces. */
  line(question: PlainQuestion, options?: Withdrawal): Promise<string>;
  /** One line that is not echoed. */
  password(question: PlainQuestion, options?: Withdrawal): Promise<string>;
  /** With `neutral`, nothing is highlighted at first, so that Enter alone chooses nothing; for decisions. */
  select<Value>(question: ChoiceQuestion<Value> & { initial?: Value; neutral?: boolean }, options?: PromptOptions): Promise<Value>;
  /** A list that is filtered as the user types, for lists longer than a page. The first match is highlighted. */
  search<Value>(question: ChoiceQuestion<Value>, options?: PromptOptions): Promise<Value>;
  checkbox<Value>(question: ChoiceQuestion<Value> & { required?: boolean }, options?: PromptOptions): Promise<Value[]>;
  /** One line, or several lines that are pasted or written in an editor. */
  input(question: InputQuestion, options?: PromptOptions): Promise<string>;
}

export interface PrompterOptions {
  clock: Clock;
  /** Where a text is stored while it is open in an editor. */
  drafts: Drafts;
}

/** Prompts on this terminal. Everything that shows them is loaded with the first question. */
export function createPrompter(terminal: Terminal, { clock, drafts }: PrompterOptions): Prompter {
  const ask = async <Answer>(question: Question, options: PromptOptions | undefined, show: Show<Answer>) => {
    const { showPrompt } = await import('./prompting/show.ts');
    return showPrompt(terminal, clock, question, options ?? {}, show);
  };
  const choose = <Value>(question: ChoiceQuestion<Value>, filter: boolean, initial: number, options: PromptOptions | undefined) =>
    ask(question, options, async (components, base, context) => {
      const index = await components.choose({ base, rows: question.choices.map(cleanRow), initial, filter }, context);
      return (question.choices[index] as Choice<Value>).value;
    });
  return {
    confirm: ({ initial = false, ...question }, options) =>
      ask(question, options, ({ confirm }, base, context) => {
        // Pasted text must not confirm anything.
        base.open.keyboard.onPaste = () => undefined;
        return confirm({ base, initial }, context);
      }),
    select: (question, options) => {
      const initialIndex = Math.max(
        0,
        question.choices.findIndex(({ value }) => value === question.initial),
      );
      return choose(question, false, question.neutral ? -1 : initialIndex, options);
    },
    search: (question, options) => choose(question, true, 0, options),
    checkbox: ({ choices, required = false, ...question }, options) =>
      ask(question, options, async ({ chooseSeveral }, base, context) => {
        const initial = choices.flatMap(({ checked }, index) => (checked ? [index] : []));
        const selectedIndexes = new Set(await chooseSeveral({ base, rows: choices.map(cleanRow), initial, required }, context));
        return choices.flatMap(({ value }, index) => (selectedIndexes.has(index) ? [value] : []));
      }),
    line: (question, options) =>
      ask(question, options, ({ line }, { heading, theme, open }, context) => {
        open.keyboard.pasteAsKeys();
        return line({ message: heading.message, theme }, context);
      }),
    password: (question, options) =>
      ask(question, options, ({ password }, { heading, theme, open }, context) => {
        open.keyboard.pasteAsKeys();
        return password({ message: heading.message, theme, mask: '*' }, context);
      }),
    input: async (question, options = {}) => {
      const { writeLong } = await import('./prompting/write-long.ts');
      return writeLong(terminal, drafts, (promptOptions, show) => ask(question, promptOptions, show), question, options);
    },
  };
}

const cleanRow = <Value>({ name, description }: Choice<Value>) => ({
  name: sanitizeLine(name),
  ...(description === undefined ? {} : { description: sanitize(description) }),
});
