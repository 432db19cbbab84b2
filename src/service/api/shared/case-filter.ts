/** Turns the filters of callers into those of the queries. */
import { casePriorities, caseStatusFilters } from '../../../interface/case-status.ts';
import type { CaseFilters } from '../../../interface/types.ts';
import { ServiceError } from '../../errors.ts';
import { requireFewLabels, requireSearchable } from '../../http/bounds.ts';
import type { RequestContext } from '../../http/context.ts';
import { instant } from '../../http/instant.ts';
import type { CaseFilter } from '../../store/cases/case-list.ts';
import { isoTime } from '../../store/database/time.ts';
import { priorityRank } from '../../views/cases.ts';

/** The filter for queries. Throws 400 `invalid_request` for an invalid time, and for a search text that is too long. */
export function caseFilter(context: RequestContext, queueId: string, input: { filters?: CaseFilters; search?: string }): CaseFilter {
  const { status, priority, created_at_from, updated_at_from, labels = {} } = input.filters ?? {};
  requireSearchable(input.search);
  const labelFilters = Object.entries(labels).map(([key, values]) => ({ key, values: [...new Set([values].flat())] }));
  requireFewLabels(
    'filters.labels',
    labelFilters.reduce((count, { values }) => count + values.length, 0),
  );
  return {
    queueId,
    statuses: status && [...new Set(status)],
    priorities: priority && [...new Set(priority.map(priorityRank))],
    createdFrom: created_at_from === undefined ? undefined : instant('created_at_from', created_at_from),
    updatedFrom: updated_at_from === undefined ? undefined : instant('updated_at_from', updated_at_from),
    labels: labelFilters,
    search: input.search?.trim() ? input.search : undefined,
    now: isoTime(context.engine.clock.now()),
  };
}

/** Filters in a query: one word, or several separated by commas. Throws 400 `invalid_request` for an unknown one. */
export const wordsOf = (status: string | undefined, priority: string | undefined): Pick<CaseFilters, 'status' | 'priority'> => ({
  ...(status === undefined ? {} : { status: wordsIn('status', status, caseStatusFilters) }),
  ...(priority === undefined ? {} : { priority: wordsIn('priority', priority, casePriorities) }),
});

function wordsIn<Word extends string>(name: string, text: string, words: readonly Word[]): Word[] {
  const parts = text.split(',').map((word) => word.trim());
  if (parts.every((word) => (words as readonly string[]).includes(word))) return parts as Word[];
  const message = `must be one of: ${words.join(', ')}`;
  throw new ServiceError(400, 'invalid_request', `${name} ${message}.`, { details: [{ path: name, message }] });
}
