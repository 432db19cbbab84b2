/** Unified diffs for people: coloured on a terminal, and readable by `patch` when plain. */
import type { Comparison } from '../base/unified-diff.ts';
import type { View } from './cell.ts';
import { sanitizeLine } from './sanitize.ts';
import { plainStyles, type Styles } from './style.ts';

/** The diff as text that ends in a line feed; empty when the texts are equal. Loads the library only when they differ. */
export async function renderDiff(comparison: Comparison, view: Pick<View, 'styles'>): Promise<string> {
  if (comparison.before === comparison.after) return '';
  const { unifiedDiff } = await import('../base/unified-diff.ts');
  const [beforeName, afterName] = [sanitizeLine(comparison.beforeName), sanitizeLine(comparison.afterName)];
  return renderPatch(unifiedDiff({ ...comparison, beforeName, afterName }).join('\n'), view);
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

/** A fenced block of a diff in Markdown. The closing fence is at least as long as the opening one. */
const fencedDiff = /^(`{3,})diff\n([\s\S]*?)\n\1`*$/gm;

/**
 * A text that is already sanitised, with its fenced blocks of diffs painted in place of their fences. Without colours, it is returned
 * unchanged, because the fences then show where a diff ends.
 */
export function paintFencedDiffs(text: string, styles: Styles): string {
  if (styles.success('x') === 'x') return text;
  return text.replace(fencedDiff, (_, _fence: string, patch: string) => renderPatch(patch, { styles }).trimEnd());
}
