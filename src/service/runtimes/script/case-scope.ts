/** The case of a run, for templates. */
import { jsonValue } from '../../../base/values.ts';
import type { RunCase } from '../run-host.ts';
import type { CaseScope } from './template.ts';

/** A case as templates see it. */
export function caseScope({ id, title, data, queue, priority, labels, createdAt }: RunCase): CaseScope {
  const byKey: Record<string, string | string[]> = {};
  for (const { key, value } of labels.filter(({ key }) => key !== '')) {
    const before = Object.hasOwn(byKey, key) ? byKey[key] : undefined;
    byKey[key] = before === undefined ? value : [before, value].flat();
  }
  const tags = labels.flatMap(({ key, value }) => (key === '' ? [value] : []));
  return { id, title, data: parseData(data), queue, priority, labels: byKey, tags, created_at: createdAt };
}

const parseData = (data: string): unknown => (/^\s*[[{]/.test(data) ? (jsonValue(data) ?? data) : data);
