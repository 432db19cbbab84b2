/**
 * Questions to the person at the terminal, on stderr. Texts are sanitised, a prompt whose signal is aborted disappears,
 * and where nobody can be asked the error says which flag answers instead.
 */
import type { PromptNeeded } from './prompt-errors.ts';
import { PromptCancelled, promptNeeded } from './prompt-errors.ts';
import { promptTheme } from './prompt-theme.ts';
import { sanitize, sanitizeLine } from './sanitize.ts';
import type { Terminal } from './streams.ts';
import { widthFor } from './width.ts';

export { PromptCancelled } from './prompt-errors.ts';

export interface Question extends PromptNeeded {
  message: string;
  /**
   * The message in two parts, for a terminal that it is too tall for: a prompt is drawn again with every key, which goes wrong
   * where it does not fit. The first part is written above, once.
   */
  parts?: { above: string; message: string };
}

export interface Choice<Value> {
  value: Value;
  name: string;
  /** Shown while the choice is under the cursor. */
  description?: string;
  checked?: boolean;
}

export interface PromptOptions {
  /** Withdraws the prompt: it leaves the screen and the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Whether the prompt appears by itself rather than in reply to something the person just did. Keys are then ignored for a
   * short, visible time, because they were meant for something else.
   */
  unasked?: boolean;
}

type Validate = (text: string) => true | string;

/**
 * Every method rejects with AopsError `prompt_needed` (exit 2) when nobody can be asked, with `PromptCancelled` (exit 130)
 * on Ctrl-C or a closed terminal, and with the signal's reason when withdrawn.
 */
export interface Prompter {
  confirm(question: Question & { initial?: boolean }, options?: PromptOptions): Promise<boolean>;
  select<Value>(question: Question & { choices: readonly Choice<Value>[]; initial?: Value }, options?: PromptOptions): Promise<Value>;
  /** A list that gets shorter as the person types; for lists that are longer than a page. The first match is highlighted. */
  search<Value>(question: Question & { choices: readonly Choice<Value>[] }, options?: PromptOptions): Promise<Value>;
  checkbox<Value>(
    question: Question & { choices: readonly Choice<Value>[]; required?: boolean },
    options?: PromptOptions,
  ): Promise<Value[]>;
  input(question: Question & { initial?: string; validate?: Validate }, options?: PromptOptions): Promise<string>;
  /** Opens $VISUAL or $EDITOR on a file; `extension` such as `.md`. */
  editor(question: Question & { initial?: string; extension?: string; validate?: Validate }, options?: PromptOptions): Promise<string>;
  /** Not echoed. */
  password(question: Question & { validate?: Validate }, options?: PromptOptions): Promise<string>;
}

/** Prompts on this terminal. Loads @inquirer/prompts at the first question. */
export function createPrompter(terminal: Terminal): Prompter {
  const ask = <Answer>(question: Question, options: PromptOptions | undefined, show: Show<Answer>) =>
    showPrompt(terminal, question, options?.signal, show);
  return {
    confirm: (question, options) =>
      ask(question, options, ({ confirm }, base, context) => confirm({ ...base, default: question.initial ?? false }, context)),
    select: (question, options) =>
      ask(question, options, ({ select }, base, context) => {
        const initial = question.initial === undefined ? {} : { default: question.initial };
        return select({ ...base, choices: question.choices.map(cleanChoice), loop: false, ...initial }, context);
      }),
    search: (question, options) =>
      ask(question, options, ({ search }, base, context) => {
        const choices = question.choices.map(cleanChoice);
        const matching = (term = '') => choices.filter(({ name }) => name.toLowerCase().includes(term.toLowerCase()));
        return search({ ...base, source: matching }, context);
      }),
    checkbox: (question, options) =>
      ask(question, options, ({ checkbox }, base, context) =>
        checkbox({ ...base, choices: question.choices.map(cleanChoice), loop: false, required: question.required ?? false }, context),
      ),
    input: (question, options) =>
      ask(question, options, ({ input }, base, context) =>
        input({ ...base, ...optional('default', question.initial), ...optional('validate', question.validate) }, context),
      ),
    editor: (question, options) =>
      ask(question, options, ({ editor }, base, context) =>
        editor(
          {
            ...base,
            waitForUserInput: false,
            postfix: question.extension ?? '.txt',
            ...optional('default', question.initial),
            ...optional('validate', question.validate),
          },
          context,
        ),
      ),
    password: (question, options) =>
      ask(question, options, ({ password }, base, context) =>
        password({ ...base, mask: '*', ...optional('validate', question.validate) }, context),
      ),
  };
}

type Inquirer = typeof import('@inquirer/prompts');
type Base = { message: string; theme: ReturnType<typeof promptTheme> };
type InquirerContext = NonNullable<Parameters<Inquirer['confirm']>[1]>;
type Show<Answer> = (inquirer: Inquirer, base: Base, context: InquirerContext) => Promise<Answer>;

async function showPrompt<Answer>(
  terminal: Terminal,
  question: Question,
  signal: AbortSignal | undefined,
  show: Show<Answer>,
): Promise<Answer> {
  // inquirer itself would draw half a prompt where there is no terminal.
  if (!terminal.interactive) throw promptNeeded(question.message, question);
  const [inquirer, styles] = await Promise.all([import('@inquirer/prompts'), terminal.err.styles()]);
  // With a signal aborted beforehand inquirer would leave its line reader open.
  signal?.throwIfAborted();

  // Ctrl-D or a terminal that went away ends the input without an answer, and inquirer would wait for ever.
  const closed = new AbortController();
  const onEnd = (): void => closed.abort();
  terminal.in.stream.once('end', onEnd);
  const context: InquirerContext = {
    input: terminal.in.stream,
    output: terminal.err.stream,
    signal: signal ? AbortSignal.any([signal, closed.signal]) : closed.signal,
    // Asked for when the prompt ends: an answered one stays on the screen, a withdrawn one goes.
    get clearPromptOnDone(): boolean {
      return signal?.aborted === true;
    },
  };
  const message = await fitting(terminal, question);
  const release = terminal.keepForPrompt();
  try {
    return await show(inquirer, { message, theme: promptTheme(styles) }, context);
  } catch (error) {
    signal?.throwIfAborted();
    if (closed.signal.aborted || (error instanceof Error && error.name === 'ExitPromptError')) throw new PromptCancelled();
    throw error;
  } finally {
    terminal.in.stream.removeListener('end', onEnd);
    release();
  }
}

/** Rows that a prompt takes beside its message: a page of choices, the description of one, an error, and the keys. */
const otherRows = 12;

/** What the prompt itself shows of the message. The rest has been written when this resolves. */
async function fitting(terminal: Terminal, { message, parts }: Question): Promise<string> {
  const whole = sanitize(message);
  const { rows, columns } = terminal.err;
  if (parts === undefined || rows === undefined) return whole;
  const lines = whole.split('\n');
  const widthOf = await widthFor(lines);
  const taken = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
  if (taken + otherRows <= rows) return whole;
  terminal.warn(parts.above);
  return sanitize(parts.message);
}

function cleanChoice<Value>({ value, name, description, checked }: Choice<Value>) {
  return {
    value,
    name: sanitizeLine(name),
    ...optional('description', description && sanitize(description)),
    ...optional('checked', checked),
  };
}

function optional<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}
