/** Filters for cases: the options, and the form that the interface accepts. */
import { omitUndefined } from '../../base/omit-undefined.ts';
import { pageView } from '../../cli/desktop/team-page.ts';
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
  status: choices(caseDisplayStatuses, 'STATUS', 'Filter by status; can be repeated', { claimed: 'in_progress' }),
  priority: choices(casePriorities, 'PRIORITY', 'Filter by priority; can be repeated'),
  label: texts('KEY=VALUE', 'Filter by label; can be repeated. Different keys must all match; of several values for a key, one must', {
    check: labelForm,
    complete: 'labels',
  }),
  createdSince: dateTime('Only cases created at or after this time'),
  updatedSince: dateTime('Only cases updated at or after this time'),
} as const;

export const sortFlags = {
  sortBy: choice(caseSortFields, 'Field to sort by (default: created_at)', { metavar: 'FIELD' }),
  sortOrder: choice(['asc', 'desc'], 'Sort order (default: desc)'),
} as const;

/** Cases that the interface displays as `in_progress` are filtered with `claimed`. */
export const statusFilter = (status: CaseDisplayStatus): CaseStatusFilter => (status === 'in_progress' ? 'claimed' : status);

type SortedInput = FilterInput & CommandInput<Record<never, never>, typeof sortFlags>;

/** The view of the team page that shows the cases of a queue with the same filters. */
export function queueView(context: Context, queueId: string, input: SortedInput, search: string | undefined): string {
  const { status, priority, created_at_from, updated_at_from } = filtersOf(context, input);
  return pageView(`/queues/${queueId}`, {
    status: status?.join(','),
    priority: priority?.join(','),
    label: input.label,
    since: created_at_from,
    'updated-since': updated_at_from,
    search,
    sort: input.sortBy,
    order: input.sortOrder,
  });
}

type FilterInput = CommandInput<Record<never, never>, typeof filterFlags>;

/** The filters that the flags specify; empty if there are none. */
export function filtersOf(context: Context, input: FilterInput): CaseFilters {
  const now = context.clock.now();
  // A key can be any word, including the name of an inherited property, so this is a Map.
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
