/** The differences between two configurations of revisions, value by value, without their procedures. Pure. */
import type { Build } from '../../interface/types.ts';

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
