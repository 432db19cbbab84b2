/** Filters of cases, as options and as the interface takes them. */
import { omitUndefined } from '../../base/omit-undefined.ts';
import type { Context } from '../../cli/kit/context.ts';
import { type CommandInput, choice, choices, dateTime, texts } from '../../cli/kit/flags.ts';
import { labelForm, readLabel } from '../../cli/names/label.ts';
import {
  type CaseDisplayStatus,
  type CaseStatusFilter,
  caseDisplayStatuses,
  casePriorities,
  caseSortFields,
} from '../../interface/case-status.ts';
import type { CaseFilters } from '../../interface/types.ts';

export const filterFlags = {
  status: choices(caseDisplayStatuses, 'STATUS', 'Cases with this status, as lists show it; may be repeated', { claimed: 'in_progress' }),
  priority: choices(casePriorities, 'PRIORITY', 'Cases with this priority; may be repeated'),
  label: texts('KEY=VALUE', 'Cases with this label; may be repeated: all keys, and one of the values of each', {
    check: labelForm,
    complete: 'labels',
  }),
  createdSince: dateTime('Cases created at this time or later'),
  updatedSince: dateTime('Cases changed at this time or later'),
} as const;

export const sortFlags = {
  sortBy: choice(caseSortFields, 'What to sort by (default created_at)', { metavar: 'FIELD' }),
  sortOrder: choice(['asc', 'desc'], 'In which order (default desc)'),
} as const;

/** The interface filters by `claimed` what it shows as `in_progress`. */
export const statusFilter = (status: CaseDisplayStatus): CaseStatusFilter => (status === 'in_progress' ? 'claimed' : status);

type FilterInput = CommandInput<Record<never, never>, typeof filterFlags>;

/** What the flags ask for; empty when they ask for nothing. */
export function filtersOf(context: Context, input: FilterInput): CaseFilters {
  const now = context.clock.now();
  // A key may be any word, also one that every object knows.
  const labels = new Map<string, string[]>();
  for (const { key = '', value } of input.label.map(readLabel)) labels.set(key, [...(labels.get(key) ?? []), value]);
  return omitUndefined({
    status: input.status.length === 0 ? undefined : [...new Set(input.status)].map(statusFilter),
    priority: input.priority.length === 0 ? undefined : input.priority,
    created_at_from: input.createdSince?.iso(now),
    updated_at_from: input.updatedSince?.iso(now),
    labels: labels.size === 0 ? undefined : Object.fromEntries(labels),
  });
}
