/** Compares two configurations: the procedure as text, everything else value by value. Pure except for the diff library. */

import { configChanges } from '../../cli/records/config-changes.ts';
import { procedureOf } from '../../cli/records/revision.ts';
import type { Build } from '../../interface/types.ts';
import type { View } from '../../terminal/cell.ts';
import { renderDiff } from '../../terminal/diff.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';

export interface Sides {
  before: Build['config'];
  after: Build['config'];
  beforeName: string;
  afterName: string;
}

/** The procedure as a unified diff, followed by a line for each other difference; empty if there are none. */
export async function renderConfigDiff({ before, after, beforeName, afterName }: Sides, view: View): Promise<string> {
  const texts = await renderDiff({ before: procedureOf(before), after: procedureOf(after), beforeName, afterName }, view);
  const lines = configChanges(before, after).map(({ path, ...change }) => {
    const valueText = (value: unknown): string => (value === undefined ? '(none)' : JSON.stringify(value));
    return sanitizeLine(`${path}: ${valueText(change.before)} -> ${valueText(change.after)}`);
  });
  return [texts, lines.length === 0 ? '' : `${lines.join('\n')}\n`].filter((part) => part !== '').join('\n');
}
