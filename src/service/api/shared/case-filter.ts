/** What callers say of which cases they mean, as the queries take it. */
import { casePriorities, caseStatusFilters } from '../../../interface/case-status.ts';
import type { CaseFilters } from '../../../interface/types.ts';
import { ServiceError } from '../../errors.ts';
import { requireFewLabels, requireSearchable } from '../../http/bounds.ts';
import type { RequestContext } from '../../http/context.ts';
import { instant } from '../../http/instant.ts';
import type { CaseFilter } from '../../store/cases/case-list.ts';
import { isoTime } from '../../store/database/time.ts';
import { priorityRank } from '../../views/cases.ts';

/** Throws 400 `invalid_request` for a time that cannot be told, and for more than can be looked for. */
export function caseFilter(context: RequestContext, queueId: string, given: { filters?: CaseFilters; search?: string }): CaseFilter {
  const { status, priority, created_at_from, updated_at_from, labels = {} } = given.filters ?? {};
  requireSearchable(given.search);
  const named = Object.entries(labels).map(([key, values]) => ({ key, values: [...new Set([values].flat())] }));
  requireFewLabels(
    'filters.labels',
    named.reduce((count, { values }) => count + values.length, 0),
  );
  return {
    queueId,
    statuses: status && [...new Set(status)],
    priorities: priority && [...new Set(priority.map(priorityRank))],
    createdFrom: created_at_from === undefined ? undefined : instant('created_at_from', created_at_from),
    updatedFrom: updated_at_from === undefined ? undefined : instant('updated_at_from', updated_at_from),
    labels: named,
    search: given.search?.trim() ? given.search : undefined,
    now: isoTime(context.engine.clock.now()),
  };
}

/** The words of a query: one, or several with commas between. Throws 400 `invalid_request` for an unknown one. */
export const wordsOf = (status: string | undefined, priority: string | undefined): Pick<CaseFilters, 'status' | 'priority'> => ({
  ...(status === undefined ? {} : { status: known('status', status, caseStatusFilters) }),
  ...(priority === undefined ? {} : { priority: known('priority', priority, casePriorities) }),
});

function known<Word extends string>(name: string, text: string, words: readonly Word[]): Word[] {
  const given = text.split(',').map((word) => word.trim());
  const wrong = given.find((word) => !(words as readonly string[]).includes(word));
  if (wrong === undefined) return given as Word[];
  const message = `must be one of: ${words.join(', ')}`;
  throw new ServiceError(400, 'invalid_request', `${name} ${message}.`, { details: [{ path: name, message }] });
}
