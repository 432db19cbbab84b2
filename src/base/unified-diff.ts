/** Two texts compared as a unified diff, which `patch` and `git apply` can read. */
import { structuredPatch } from 'diff';

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
const maxEditLength = 2_000;

/** The lines of the diff, with `---` and `+++` first; none when the texts are equal. */
export function unifiedDiff({ before, after, beforeName, afterName }: Comparison): string[] {
  if (before === after) return [];
  const patch = structuredPatch(beforeName, afterName, before, after, undefined, undefined, { context, maxEditLength });
  const hunks = patch?.hunks ?? [fileHunk(before, after)];
  return [
    `--- ${beforeName}`,
    `+++ ${afterName}`,
    ...hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
      `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`,
      ...lines,
    ]),
  ];
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
