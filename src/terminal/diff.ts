/** Two texts compared as a unified diff: coloured on a terminal, and readable by `patch` when plain. */
import type { View } from './cell.ts';
import { sanitizeLine } from './sanitize.ts';
import { plainStyles, type Styles } from './style.ts';

/** The texts to compare. The name `/dev/null` means that this side does not exist. */
export interface Comparison {
  before: string;
  after: string;
  beforeName: string;
  afterName: string;
}

/** Lines shown around each change. */
const context = 3;
/** Differing lines beyond which no shortest diff is searched for, because the search time grows with their square. */
const longestSearch = 2_000;

/** The diff as text that ends in a line feed; empty when the texts are equal. Loads the library only when they differ. */
export async function renderDiff({ before, after, beforeName, afterName }: Comparison, view: Pick<View, 'styles'>): Promise<string> {
  if (before === after) return '';
  const { structuredPatch } = await import('diff');
  const styles = view.styles ?? plainStyles;
  const lines = [styles.bold(`--- ${sanitizeLine(beforeName)}`), styles.bold(`+++ ${sanitizeLine(afterName)}`)];
  const patch = structuredPatch(beforeName, afterName, before, after, undefined, undefined, { context, maxEditLength: longestSearch });
  const hunks = patch?.hunks ?? [fileHunk(before, after)];
  for (const { oldStart, oldLines, newStart, newLines, lines: hunkLines } of hunks) {
    lines.push(styles.accent(`@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`));
    for (const line of hunkLines) lines.push(paintLine(line, styles));
  }
  return `${lines.join('\n')}\n`;
}

/** A patch of git for people, coloured and with nothing in it that could steer a terminal. Ends in a line feed. */
export function renderPatch(patch: string, { styles = plainStyles }: Pick<View, 'styles'>): string {
  let inHeader = true;
  const lines = patch.replace(/\n$/, '').split('\n');
  const paint = (line: string): string => {
    if (line.startsWith('diff --git ')) inHeader = true;
    const range = /^(@@ -\S+ \+\S+ @@)(.*)$/s.exec(line);
    if (range === null) return inHeader ? styles.bold(sanitizeLine(line)) : paintLine(line, styles);
    inHeader = false;
    return `${styles.accent(range[1] as string)}${sanitizeLine(range[2] as string)}`;
  };
  return `${lines.map(paint).join('\n')}\n`;
}

function paintLine(line: string, styles: Styles): string {
  // Tabs stay; all other characters that could steer a terminal are made visible.
  const text = line
    .split('\t')
    .map((part) => sanitizeLine(part))
    .join('\t');
  if (text.startsWith('+')) return styles.success(text);
  if (text.startsWith('-')) return styles.error(text);
  return text.startsWith('\\') ? styles.dim(text) : text;
}

/** A range as `diff -u` writes it: without a count for one line. Only an empty text has none, because changes have context. */
const range = (start: number, count: number): string => (count === 1 ? String(start) : `${count === 0 ? 0 : start},${count}`);

/** One hunk that removes all old lines and adds all new ones, for texts that differ too much to compare. */
function fileHunk(before: string, after: string) {
  const sideOf = (text: string, sign: string): string[] => {
    const lines = text.split('\n');
    const lastLine = lines.pop();
    const signedLines = lines.map((line) => `${sign}${line}`);
    return lastLine === '' ? signedLines : [...signedLines, `${sign}${lastLine}`, '\\ No newline at end of file'];
  };
  const [out, added] = [sideOf(before, '-'), sideOf(after, '+')];
  const count = (lines: string[]): number => lines.filter((line) => !line.startsWith('\\')).length;
  return { oldStart: 1, oldLines: count(out), newStart: 1, newLines: count(added), lines: [...out, ...added] };
}
