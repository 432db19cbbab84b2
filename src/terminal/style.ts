/**
 * Styles by meaning, and links. Our markup contains a random number of this process in its escape sequences (`ESC[NUMBER;1m`),
 * which tells it apart from sequences in the data: the writer lets only our own through. Width functions ignore both.
 */
import { sanitize } from './sanitize.ts';

export type StyleName = 'bold' | 'dim' | 'accent' | 'success' | 'warning' | 'error';

export interface Styles extends Record<StyleName, (text: string) => string> {
  /** Colours a status word (of a run, a sandbox, a delivery); unknown words stay plain. */
  status(word: string): string;
}

const processMark = String(1_000_000_000 + Math.floor(Math.random() * 9_000_000_000));
const ourSequence = new RegExp(`\\u001b\\[${processMark};(\\d+)m|\\u001b\\]8;${processMark};([!-~]*)\\u001b\\\\`, 'g');
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about escape sequences
const anySequence = /\u001b\[(\d+)m/g;

const statusStyles: Record<string, StyleName> = {
  not_started: 'dim',
  pending: 'dim',
  starting: 'accent',
  running: 'accent',
  in_progress: 'accent',
  waiting: 'warning',
  waiting_for_input: 'warning',
  waiting_for_approve: 'warning',
  draft: 'dim',
  archived: 'dim',
  live: 'success',
  needs_input: 'warning',
  postponed: 'dim',
  needs_attention: 'warning',
  interrupted: 'warning',
  stopped: 'warning',
  completed: 'success',
  ready: 'success',
  succeeded: 'success',
  passed: 'success',
  undecided: 'dim',
  delivered: 'success',
  active: 'success',
  failing: 'warning',
  disabled: 'error',
  broken: 'error',
  unauthorized: 'warning',
  cancelled: 'dim',
  failed: 'error',
  error: 'error',
  unavailable: 'error',
};

/** Styles that change nothing. */
export const plainStyles: Styles = stylesFrom(() => (text) => text);

/** Styles for a stream with or without colour. Loads chalk only when colour is on. */
export async function loadStyles(color: boolean): Promise<Styles> {
  if (!color) return plainStyles;
  const { Chalk } = await import('chalk');
  const chalk = new Chalk({ level: 1 });
  const paints = { bold: chalk.bold, dim: chalk.dim, accent: chalk.cyan, success: chalk.green, warning: chalk.yellow, error: chalk.red };
  // Outer styles must see the codes of inner ones to restore themselves after them, hence the conversion back and forth.
  return stylesFrom((name) => (text) => adoptSequences(paints[name](resolveMarkup(text))));
}

/** Text ready for a terminal: our own markup as escape sequences, everything else sanitised. */
export function resolveMarkup(text: string): string {
  let result = '';
  let end = 0;
  for (const match of text.matchAll(ourSequence)) {
    result += sanitize(text.slice(end, match.index));
    result += match[1] === undefined ? `\u001b]8;;${match[2]}\u001b\\` : `\u001b[${match[1]}m`;
    end = match.index + match[0].length;
  }
  return result + sanitize(text.slice(end));
}

/** A text linked to a URL, which must consist of printable ASCII. */
export const linkMarkup = (text: string, url: string): string =>
  `\u001b]8;${processMark};${url}\u001b\\${text}\u001b]8;${processMark};\u001b\\`;

/** Turns colour sequences into our markup. Only for text that was sanitised before it was coloured. */
export function adoptSequences(text: string): string {
  return text.replace(anySequence, `\u001b[${processMark};$1m`);
}

function stylesFrom(paint: (name: StyleName) => (text: string) => string): Styles {
  const namedStyles = {
    bold: paint('bold'),
    dim: paint('dim'),
    accent: paint('accent'),
    success: paint('success'),
    warning: paint('warning'),
    error: paint('error'),
  };
  const status = (word: string): string => {
    const name = Object.hasOwn(statusStyles, word) ? statusStyles[word] : undefined;
    return name === undefined ? word : namedStyles[name](word);
  };
  return { ...namedStyles, status };
}
