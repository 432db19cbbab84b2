/** The list of runs in the order of creation, and their number. */
import { setImmediate } from 'node:timers/promises';
import type { RunStatus } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { namesOf, preparedQuery } from '../database/prepared.ts';
import { isShared } from '../database/row-locks.ts';
import type { EvaluationStatus, RunRow } from '../database/schema.ts';
import {
  boundsOf,
  type Place,
  type Slice,
  searchSlice,
  skippedSlice,
  sliceAfter,
  slices,
  wholeList,
  withinSlice,
} from '../database/slices.ts';
import {
  dependsOnValues,
  filteredRuns,
  foldedSearch,
  indexedOnly,
  patternOf,
  type RunFilter,
  type Values,
  valuesOf,
} from './run-filter.ts';
import { countRunsOfNamedAgents, hasMoreCandidates, phraseOf } from './run-search.ts';
import { sumTotals } from './run-totals.ts';

export interface RunPage {
  limit: number;
  offset: number;
  order: 'asc' | 'desc';
}

const columns = [
  'id',
  'agent_id',
  'build_id',
  'run_number',
  'title',
  'status',
  'source',
  'sandbox_id',
  'case_id',
  'submitted_prompt_count',
  'error',
  'created_at',
  'updated_at',
  'started_at',
  'completed_at',
] as const satisfies readonly (keyof RunRow)[];

export type ListedRun = Pick<RunRow, (typeof columns)[number]> & {
  agent_name: string;
  /** From its case, unless that was deleted. */
  case_queue_id: string | null;
  case_queue_name: string | null;
  case_title: string | null;
  postponed_to: string | null;
  /** From its evaluation; null for a run that has not ended yet. */
  eval_status: EvaluationStatus | null;
  eval_passed: number | null;
  eval_total: number | null;
  eval_critical: number | null;
  eval_medium: number | null;
  eval_low: number | null;
  eval_comment: string | null;
};

export async function listRunRows(db: Queries, filter: RunFilter, page: RunPage): Promise<ListedRun[]> {
  const [onlyFilter, ...otherFilters] = filtersByStatus(filter);
  if (onlyFilter !== undefined && otherFilters.length === 0) return listOfOne(db, onlyFilter, page);
  // A page of each status is read, and these are merged.
  const { limit, offset, order } = page;
  const pages = filtersByStatus(filter).map((each) => listOfOne(db, each, { limit: offset + limit, offset: 0, order }));
  const rows = (await Promise.all(pages)).flat();
  const direction = order === 'asc' ? 1 : -1;
  rows.sort((a, b) => direction * (a.created_at === b.created_at ? a.run_number - b.run_number : a.created_at < b.created_at ? -1 : 1));
  return rows.slice(offset, offset + limit);
}

/** One filter for each status: an index is in the order of the list for one status, but not for several. */
const filtersByStatus = (filter: RunFilter): FilterOfOne[] =>
  filter.statuses === undefined
    ? [filter as FilterOfOne]
    : [...new Set(filter.statuses)].map((status) => ({ ...filter, statuses: [status] }));

/** A filter for one status, or for any. */
type FilterOfOne = RunFilter & { statuses?: readonly [RunStatus] };

/**
 * The values of a query. Postgres cannot combine the indexes of a search with a condition on agents whose number it does not know, so
 * that is left out if no agent matches.
 */
async function searchValues(db: Queries, filter: FilterOfOne): Promise<Values> {
  const values = valuesOf(filter);
  const { teamId } = filter;
  if (values.contains === undefined || !isShared(db)) return values;
  const agentRuns = await countRunsOfNamedAgents(db, { teamId, contains: values.contains });
  return agentRuns === 0 ? { ...values, withoutAgents: true } : values;
}

/** The list of runs with one status, or with any. */
async function listOfOne(db: Queries, filter: FilterOfOne, page: RunPage): Promise<ListedRun[]> {
  const { strategy, values } = await planSearch(db, filter);
  if (strategy === 'slices') return searchRuns(db, values, page);
  let { offset } = page;
  let last: Place | undefined;
  if (isIndexed(filter)) {
    for (; offset > skippedSlice; offset -= skippedSlice) {
      const slice = sliceAfter(last, undefined);
      last = await lastOfSlice.first(db, { ...values, ...slice, order: page.order, skipCount: skippedSlice - 1 });
      if (last === undefined) return [];
      await setImmediate();
    }
  }
  return listQuery.all(db, { ...values, ...sliceAfter(last, undefined), ...page, offset });
}

/** A page of the runs that match a search. */
async function searchRuns(db: Queries, values: Values, { limit, offset, order }: RunPage): Promise<ListedRun[]> {
  const rows: ListedRun[] = [];
  let skip = offset;
  for await (const slice of slicesOf(db, values, order, searchSlice)) {
    if (skip > 0) {
      const matchCount = Number((await count.only(db, { ...inTimes(values, slice, order), order })).total);
      if (matchCount <= skip) {
        skip -= matchCount;
        continue;
      }
    }
    rows.push(...(await listQuery.all(db, { ...inTimes(values, slice, order), order, limit: limit - rows.length, offset: skip })));
    skip = 0;
    if (rows.length >= limit) break;
  }
  return rows;
}

/** The slices of the runs that match the filters with an index, each of this many runs. */
const slicesOf = (db: Queries, values: Values, order: RunPage['order'], size: number): AsyncGenerator<Slice, void, undefined> =>
  slices((slice) => lastOfSlice.first(db, { ...inTimes(indexedOnly(values), slice, order), order, skipCount: size - 1 }));

/**
 * The values for a slice. Where the slice has a bound, the bound of the filter is left out: if there are two, SQLite may use the
 * wider one, and read all other slices as well.
 */
function inTimes(values: Values, slice: Slice, order: RunPage['order']): Values & Slice {
  const { hasStart, hasEnd } = boundsOf(slice, order);
  return { ...values, ...slice, since: hasStart ? undefined : values.since, until: hasEnd ? undefined : values.until };
}

interface SearchPlan {
  /** Whether one query reads all the rows, or several do so in slices. */
  strategy: 'at once' | 'slices';
  values: Values;
}

/**
 * How to find runs: with an index that has them in the order of the list, by the matches of a search if these are few, or by reading all
 * that match those filters for which there is an index, in slices if they are many.
 */
async function planSearch(db: Queries, filter: FilterOfOne): Promise<SearchPlan> {
  const values = await searchValues(db, filter);
  if (filter.number !== undefined) return { strategy: 'at once', values };
  const ordered: Values = { ...values, byIssue: filter.hasIssues === true || filter.issueSeverity !== undefined ? true : undefined };
  // Queries of a database server do not delay this process, and the server chooses how to find the rows.
  if (isShared(db) || isIndexed(filter)) return { strategy: 'at once', values: ordered };
  // No index contains the runs of an agent by source.
  const indexedFilter = filter.agentId === undefined ? filter : { ...filter, source: undefined };
  if ((await sumTotals(db, indexedFilter)) <= searchSlice) return { strategy: 'at once', values };
  const phrase = filter.search === undefined ? undefined : await phraseOfFew(db, filter.teamId, filter.search);
  if (phrase !== undefined) return { strategy: 'at once', values: { ...values, phrase } };
  return { strategy: 'slices', values: ordered };
}

/** The phrase of a search for which the index has so few candidates that one query may read them all; undefined if there are more. */
async function phraseOfFew(db: Queries, teamId: string, search: string): Promise<string | undefined> {
  const phrase = await phraseOf(db, foldedSearch(search));
  if (phrase === undefined || (await hasMoreCandidates(db, phrase, searchSlice))) return undefined;
  return (await countRunsOfNamedAgents(db, { teamId, contains: patternOf(search) })) <= searchSlice ? phrase : undefined;
}

/** Whether an index contains the runs of the filter in the order of the list, and no others. */
function isIndexed({ search, caseQueueId, hasIssues, issueSeverity, agentId, source, statuses }: RunFilter): boolean {
  if (search !== undefined || caseQueueId !== undefined || hasIssues === false) return false;
  if (hasIssues === undefined && issueSeverity === undefined) return agentId === undefined || source === undefined;
  return source === undefined && statuses === undefined && (agentId === undefined || issueSeverity === undefined);
}

/** How many runs match. The result can be off by runs that change while they are counted. */
export async function countRuns(db: Queries, filter: RunFilter): Promise<number> {
  const { since, until, caseQueueId, search, hasIssues, issueSeverity, number } = filter;
  if ([since, until, caseQueueId, search, hasIssues, issueSeverity, number].every((value) => value === undefined))
    return sumTotals(db, filter);
  let total = 0;
  for (const each of filtersByStatus(filter)) total += await countOfOne(db, each);
  return total;
}

/** How many runs match with one status, or with any. */
async function countOfOne(db: Queries, filter: FilterOfOne): Promise<number> {
  // Most runs have no issues, so counting the others is faster.
  if (filter.hasIssues === false && filter.issueSeverity === undefined) {
    const allCount = await countRuns(db, { ...filter, hasIssues: undefined });
    return Math.max(0, allCount - (await countRuns(db, { ...filter, hasIssues: true })));
  }
  const { strategy, values } = await planSearch(db, filter);
  if (strategy === 'slices') return countOf(db, values, searchSlice);
  if (isIndexed(filter) && filter.number === undefined) return countOf(db, values, skippedSlice);
  return Number((await count.only(db, { ...values, ...wholeList, order: 'desc' })).total);
}

async function countOf(db: Queries, values: Values, size: number): Promise<number> {
  const order = 'desc';
  let total = 0;
  for await (const slice of slicesOf(db, values, order, size)) {
    total += Number((await count.only(db, { ...inTimes(values, slice, order), order })).total);
  }
  return total;
}

/** What the list is sorted by. */
const inOrder = ['runs.created_at', 'runs.run_number'] as const;

const listQuery = preparedQuery(
  (db, parameters: Values & RunPage & Slice, values) => {
    // Only the index is read to find the page, even far down the list, and then the runs of the page.
    const page = filteredRuns(db, parameters, values)
      .where((where) => where.and(withinSlice(parameters, values, inOrder)))
      .select('runs.id')
      .orderBy('runs.created_at', values.order)
      .orderBy('runs.run_number', values.order)
      .limit(parameters.limit)
      .offset(parameters.offset);
    return db
      .selectFrom('runs')
      .innerJoin('agents', 'agents.id', 'runs.agent_id')
      .leftJoin('cases', 'cases.id', 'runs.case_id')
      .leftJoin('queues', 'queues.id', 'cases.queue_id')
      .leftJoin('evaluations', 'evaluations.run_id', 'runs.id')
      .where('runs.id', 'in', page)
      .select(columns.map((column) => `runs.${column}` as const))
      .select([
        'agents.name as agent_name',
        'cases.queue_id as case_queue_id',
        'queues.name as case_queue_name',
        'cases.title as case_title',
        'cases.postponed_to as postponed_to',
        'evaluations.status as eval_status',
        'evaluations.passed as eval_passed',
        'evaluations.total as eval_total',
        'evaluations.critical as eval_critical',
        'evaluations.medium as eval_medium',
        'evaluations.low as eval_low',
        'evaluations.comment as eval_comment',
      ])
      .orderBy('runs.created_at', values.order)
      .orderBy('runs.run_number', values.order);
  },
  (values) => `${values.order} ${namesOf(values).join()}`,
  { dependsOnValues },
);

const count = preparedQuery(
  (db, parameters: Values & Slice & Pick<RunPage, 'order'>, values) =>
    filteredRuns(db, parameters, values)
      .where((where) => where.and(withinSlice(parameters, values, inOrder)))
      .select((select) => select.fn.countAll<number>().as('total')),
  (values) => `${values.order} ${namesOf(values).join()}`,
  { dependsOnValues },
);

/** The run after this many others in a slice whose end is not determined yet. */
const lastOfSlice = preparedQuery(
  (db, parameters: Values & Slice & Pick<RunPage, 'order'> & { skipCount: number }, values) =>
    filteredRuns(db, parameters, values)
      .where((where) => where.and(withinSlice(parameters, values, inOrder)))
      .select(['runs.created_at', 'runs.run_number as number'])
      .orderBy('runs.created_at', values.order)
      .orderBy('runs.run_number', values.order)
      .limit(1)
      .offset(parameters.skipCount),
  (values) => `${values.order} ${namesOf(values).join()}`,
  { dependsOnValues },
);
