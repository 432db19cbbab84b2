/** Two texts compared, as a unified diff: coloured by its styles, readable by `patch` without them. */
import type { View } from './cell.ts';
import { sanitizeLine } from './sanitize.ts';
import { plainStyles, type Styles } from './style.ts';

/** What is compared. A name such as `/dev/null` says that a side is not there. */
export interface Comparison {
  before: string;
  after: string;
  beforeName: string;
  afterName: string;
}

/** Lines shown around each change. */
const context = 3;
/** Lines that may differ before the search for the shortest diff is given up: it grows with their square. */
const longestSearch = 2_000;

/** The diff as text that ends in a line feed; empty when the texts are the same. Loads the library only when they are not. */
export async function renderDiff({ before, after, beforeName, afterName }: Comparison, view: Pick<View, 'styles'>): Promise<string> {
  if (before === after) return '';
  const { structuredPatch } = await import('diff');
  const styles = view.styles ?? plainStyles;
  const lines = [styles.bold(`--- ${sanitizeLine(beforeName)}`), styles.bold(`+++ ${sanitizeLine(afterName)}`)];
  const patch = structuredPatch(beforeName, afterName, before, after, undefined, undefined, { context, maxEditLength: longestSearch });
  const hunks = patch?.hunks ?? [wholeHunk(before, after)];
  for (const { oldStart, oldLines, newStart, newLines, lines: changed } of hunks) {
    lines.push(styles.accent(`@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`));
    for (const line of changed) lines.push(paintLine(line, styles));
  }
  return `${lines.join('\n')}\n`;
}

function paintLine(line: string, styles: Styles): string {
  // A tab is text here; everything else that could steer a terminal becomes visible.
  const text = line
    .split('\t')
    .map((part) => sanitizeLine(part))
    .join('\t');
  if (text.startsWith('+')) return styles.success(text);
  if (text.startsWith('-')) return styles.error(text);
  return text.startsWith('\\') ? styles.dim(text) : text;
}

/** As `diff -u` writes it: no count for one line, and the line before for none. */
const range = (start: number, count: number): string =>
  count === 1 ? String(start) : `${count === 0 ? Math.max(0, start - 1) : start},${count}`;

/** Everything out, everything in: for texts that are too different to compare. */
function wholeHunk(before: string, after: string) {
  const sideOf = (text: string, sign: string): string[] => {
    if (text === '') return [];
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    else lines.push('');
    const shown = lines.map((line) => `${sign}${line}`);
    if (!text.endsWith('\n')) shown[shown.length - 1] = '\\ No newline at end of file';
    return shown;
  };
  const [out, added] = [sideOf(before, '-'), sideOf(after, '+')];
  const count = (lines: string[]): number => lines.filter((line) => !line.startsWith('\\')).length;
  return { oldStart: 1, oldLines: count(out), newStart: 1, newLines: count(added), lines: [...out, ...added] };
}
