/** Compares two configurations: the procedure as text, everything else value by value. Pure except for the diff library. */

import { procedureOf } from '../../cli/records/revision.ts';
import type { Build } from '../../interface/types.ts';
import type { View } from '../../terminal/cell.ts';
import { renderDiff } from '../../terminal/diff.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';

export interface ConfigChange {
  /** `data.models.agent.model` */
  path: string;
  /** Missing if the value did not exist. */
  before?: unknown;
  after?: unknown;
}

/** The differences other than the procedure. */
export function configChanges(before: Build['config'], after: Build['config']): ConfigChange[] {
  const [valuesBefore, valuesAfter] = [flatten(before), flatten(after)];
  return [...new Set([...valuesBefore.keys(), ...valuesAfter.keys()])]
    .filter((path) => JSON.stringify(valuesBefore.get(path)) !== JSON.stringify(valuesAfter.get(path)))
    .map((path) => ({
      path,
      ...(valuesBefore.has(path) ? { before: valuesBefore.get(path) } : {}),
      ...(valuesAfter.has(path) ? { after: valuesAfter.get(path) } : {}),
    }));
}

/** Values by path; lists count as values. */
function flatten(value: unknown, path: string[] = [], values = new Map<string, unknown>()): Map<string, unknown> {
  const name = path.join('.');
  if (name === 'data.input') return values;
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    for (const [key, inner] of Object.entries(value)) flatten(inner, [...path, key], values);
  } else if (value !== null && value !== undefined) values.set(name, value);
  return values;
}

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
