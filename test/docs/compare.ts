/** Whether what a document shows is what a command printed, apart from what differs every time. Pure. */
import type { Output } from './run-examples.ts';

/** A line that stands for any lines. */
const ellipsis = '…';

/**
 * Whether the shown lines are stdout and stderr, interleaved in any way: a terminal shows both, and which of them comes first
 * is a matter of chance.
 */
export function matches(documentedLines: readonly string[], output: Output, home: string): boolean {
  const expected = normaliseLines(documentedLines, home);
  const out = normaliseLines(output.stdout, home);
  const err = normaliseLines(output.stderr, home);
  const deadEnds = new Set<string>();
  const fits = (index: number, outAt: number, errAt: number): boolean => {
    if (index === expected.length) return outAt === out.length && errAt === err.length;
    const state = `${index} ${outAt} ${errAt}`;
    if (deadEnds.has(state)) return false;
    const line = expected[index];
    const any = line === ellipsis;
    const isMatch =
      (any && fits(index + 1, outAt, errAt)) ||
      (outAt < out.length && (any || out[outAt] === line) && fits(any ? index : index + 1, outAt + 1, errAt)) ||
      (errAt < err.length && (any || err[errAt] === line) && fits(any ? index : index + 1, outAt, errAt + 1));
    if (!isMatch) deadEnds.add(state);
    return isMatch;
  };
  return fits(0, 0, 0);
}

/** Lines without what differs every time. */
const normaliseLines = (lines: readonly string[], home: string): string[] =>
  lines
    .map((line) => normalise(line, home))
    // Which statuses are seen on the way depends on the moments of polling.
    .filter((line) => !/^\[[a-z_]+\]$/.test(line));

const replacements: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>'],
  // One that was cut to fit.
  [/[0-9a-f]{8}-[0-9a-f-]{0,27}…/g, '<id>…'],
  // Words that were cut: by how much depends on the times next to them.
  [/(\w+)[\w-]*…/g, '$1…'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/just now|\b\d+[smh] ago\b|\bin \d+[smh]\b/g, '<time>'],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>'],
  [/\S*\/aops-local-\w+/g, '<temporary folder>'],
  [/\b\d+\.\d+\.\d+\b/g, '<version>'],
  [/\b\d+(?:\.\d+)?(?:ms|s)\b|\b\d+m \d+s\b/g, '<duration>'],
  // The memory and the processors of the machine determine this number.
  [/\bat most \d+ at a time\b/g, 'at most <number> at a time'],
  [/(\bprocess:? +|"pid": ?)\d+/gi, '$1<pid>'],
  [/aops_[a-z]+_…\S{4}/g, '<masked token>'],
  [/(?:aops_[a-z]+|whsec)_…\S{4}/g, '<masked token>'],
  // Columns are as wide as what is in them.
  [/ {2,}/g, '  '],
  [/\s+$/, ''],
];

function normalise(line: string, home: string): string {
  let text = line.replaceAll(home, '/home/you');
  for (const [pattern, replacement] of replacements) text = text.replace(pattern, replacement);
  return text;
}
