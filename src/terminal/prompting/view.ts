/** What all prompts have in common: the question above, and the keys below. */
import { useEffect, useState } from '@inquirer/core';
import type { promptTheme } from '../prompt-theme.ts';
import type { OpenPrompt } from './open-prompt.ts';

export type Theme = ReturnType<typeof promptTheme>;

/** The texts of a question, sanitised. */
export interface Heading {
  /** Context to read before the message; shown above it. */
  above: string;
  message: string;
  /** Details of the message; shown below it. */
  detail: string;
}

/** A key, and what it does. */
export type KeyHelp = [key: string, action: string];

/** What every prompt component receives in addition to its own settings. */
export interface Base {
  heading: Heading;
  theme: Theme;
  open: OpenPrompt;
  /** What Escape does, such as "leave it pending". */
  escape: string | undefined;
  /** Called instead of an answer when Escape is pressed. */
  onEscape(): void;
}

/** Redraws the prompt whenever the terminal requires it. */
export function useRedraws(open: OpenPrompt): void {
  const [count, setCount] = useState(0);
  useEffect(() => open.onRedraw(() => setCount(count + 1)), [count]);
}

/** The heading of an open prompt. @param inline text after the message on the same line */
export function headingView({ heading, theme }: Base, inline = ''): string {
  const { above, message, detail } = heading;
  const line = `${theme.prefix.idle} ${theme.style.message(message)}${inline === '' ? '' : ` ${inline}`}`;
  return [above, line, detail].filter(Boolean).join('\n');
}

/** An answered prompt as it stays on the screen. */
export function answeredView({ heading, theme }: AnsweredPrompt, [first = '', ...more]: readonly string[]): string {
  const { message, answer } = theme.style;
  const line = [theme.prefix.done, message(heading.message), ...(more.length === 0 ? [answer(first)] : [])].join(' ');
  const lines = more.length === 0 ? [] : [first, ...more].map((text) => `  ${answer(text)}`);
  return [heading.above, line, ...lines, heading.detail].filter(Boolean).join('\n');
}

interface AnsweredPrompt {
  heading: Heading;
  theme: { prefix: Pick<Theme['prefix'], 'done'>; style: Pick<Theme['style'], 'message' | 'answer'> };
}

/** Maximum number of lines of a text that a prompt shows. */
const maxLines = 8;

/** The first and last lines of a long text, so that the prompt fits the screen. */
export function clipLines(lines: readonly string[]): string[] {
  if (lines.length <= maxLines) return [...lines];
  const half = maxLines / 2;
  return [...lines.slice(0, half), `… ${lines.length - 2 * half} more lines …`, ...lines.slice(-half)];
}

/** The line that explains the keys, or says that they do not work yet. */
export function keyHelp(base: Base, keys: readonly KeyHelp[]): string {
  const { theme, open } = base;
  if (open.ignoresKeys) return theme.style.help('(the keys work in a moment)');
  return theme.style.keysHelpTip(base.escape === undefined ? [...keys] : [...keys, ['esc', base.escape]]);
}

/** The lines below a prompt: an error if there is one, and the keys. */
export const footer = (base: Base, error: string | undefined, keys: readonly KeyHelp[]): string =>
  [...(error === undefined ? [] : [base.theme.style.error(error)]), keyHelp(base, keys)].join('\n');
