/** The run list with its filters. Every filter but the search is an index; the order is that of creation. */
import { setImmediate } from 'node:timers/promises';
import { type ExpressionBuilder, sql } from 'kysely';
import type { RunStatus } from '../../interface/types.ts';
import type { Queries } from './database.ts';
import { escapeLike, idsWith } from './like.ts';
import { namesOf, prepared } from './prepared.ts';
import { type Place, type Slice, searchSlice, skippedSlice, sliceAfter, slices, wholeList, within } from './run-slices.ts';
import { sumTotals } from './run-totals.ts';
import type { Database, EvaluationStatus, RunRow } from './schema.ts';

export interface RunFilter {
  teamId: string;
  agentId?: string;
  /** None matches nothing, absent matches all. */
  statuses?: readonly RunStatus[];
  /** ISO 8601 in UTC, inclusive and exclusive. */
  since?: string;
  until?: string;
  source?: string;
  /** Runs for cases of this queue. */
  caseQueueId?: string;
  /** Whether a rubric was not met; a run that is not evaluated yet has no issues. */
  hasIssues?: boolean;
  /** Runs with an issue of this severity. */
  issueSeverity?: 'critical' | 'medium' | 'low';
  /** The one run of the team that has this number. */
  number?: number;
  /** Words in the title or the agent's name, or the beginning of an id. */
  search?: string;
}

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
  /** Of its case, unless that is gone. */
  case_queue_id: string | null;
  case_queue_name: string | null;
  case_title: string | null;
  postponed_to: string | null;
  /** Of its evaluation; null for a run that has not ended yet. */
  eval_status: EvaluationStatus | null;
  eval_passed: number | null;
  eval_total: number | null;
  eval_critical: number | null;
  eval_medium: number | null;
  eval_low: number | null;
  eval_comment: string | null;
};

export async function listRunRows(db: Queries, filter: RunFilter, page: RunPage): Promise<ListedRun[]> {
  const { statuses } = filter;
  if (statuses?.length === 0) return [];
  if (statuses === undefined || statuses.length === 1) return listOfOne(db, filter, page);
  // An index has the runs of one status in order, not those of several: so many of each, and then the right ones of those.
  const { limit, offset, order } = page;
  const of = (status: RunStatus) => listRunRows(db, { ...filter, statuses: [status] }, { limit: offset + limit, offset: 0, order });
  const rows = (await Promise.all(statuses.map(of))).flat();
  const direction = order === 'asc' ? 1 : -1;
  rows.sort((a, b) => direction * (a.created_at === b.created_at ? a.run_number - b.run_number : a.created_at < b.created_at ? -1 : 1));
  return rows.slice(offset, offset + limit);
}

/** The list of runs of one status, or of any. */
async function listOfOne(db: Queries, filter: RunFilter, page: RunPage): Promise<ListedRun[]> {
  const values = valuesOf(filter);
  if (await needsSlices(db, filter)) return searched(db, values, page);
  let { offset } = page;
  let last: Place | undefined;
  if (isIndexed(filter)) {
    for (; offset > skippedSlice; offset -= skippedSlice) {
      const slice = sliceAfter(last, undefined);
      last = await lastOfSlice.first(db, { ...values, ...slice, order: page.order, skipped: skippedSlice - 1 });
      if (last === undefined) return [];
      await setImmediate();
    }
  }
  return listed.all(db, { ...values, ...sliceAfter(last, undefined), ...page, offset });
}

/** A page of the runs that a search finds. */
async function searched(db: Queries, values: Values, { limit, offset, order }: RunPage): Promise<ListedRun[]> {
  const rows: ListedRun[] = [];
  let skip = offset;
  for await (const slice of searchSlices(db, values, order)) {
    if (skip > 0) {
      const found = Number((await counted.only(db, { ...values, ...slice, order })).total);
      if (found <= skip) {
        skip -= found;
        continue;
      }
    }
    rows.push(...(await listed.all(db, { ...values, ...slice, order, limit: limit - rows.length, offset: skip })));
    skip = 0;
    if (rows.length >= limit) break;
  }
  return rows;
}

/** The slices of the runs that a search looks at: those of the filters that have an index. */
const searchSlices = (db: Queries, values: Values, order: RunPage['order']): AsyncGenerator<Slice, void, undefined> =>
  slices((slice) =>
    lastOfSlice.first(db, {
      ...values,
      caseQueueId: undefined,
      contains: undefined,
      ids: undefined,
      ...slice,
      order,
      skipped: searchSlice - 1,
    }),
  );

/** Whether there are more runs to look at than are looked at in one go. Those with issues have an index of their own. */
async function needsSlices(db: Queries, filter: RunFilter): Promise<boolean> {
  const { search, caseQueueId, hasIssues, issueSeverity } = filter;
  if ((search ?? caseQueueId) === undefined || hasIssues !== undefined || issueSeverity !== undefined) return false;
  return (await sumTotals(db, filter)) > searchSlice;
}

/** Whether an index has the runs of the filter in the order of the list. */
const isIndexed = ({ search, caseQueueId, hasIssues, issueSeverity }: RunFilter): boolean =>
  [search, caseQueueId, hasIssues, issueSeverity].every((value) => value === undefined);

export async function countRuns(db: Queries, filter: RunFilter): Promise<number> {
  const { since, until, caseQueueId, search, hasIssues, issueSeverity, number } = filter;
  if ([since, until, caseQueueId, search, hasIssues, issueSeverity, number].every((value) => value === undefined))
    return sumTotals(db, filter);
  if (filter.statuses?.length === 0) return 0;
  const values = valuesOf(filter);
  if (!(await needsSlices(db, filter))) return Number((await counted.only(db, { ...values, ...wholeList, order: 'desc' })).total);
  let total = 0;
  for await (const slice of searchSlices(db, values, 'desc'))
    total += Number((await counted.only(db, { ...values, ...slice, order: 'desc' })).total);
  return total;
}

/** The filter as the values of a query. */
interface Values {
  teamId: string;
  agentId: string | undefined;
  /** One for each status. */
  [status: `status${number}`]: RunStatus;
  since: string | undefined;
  until: string | undefined;
  source: string | undefined;
  caseQueueId: string | undefined;
  number: number | undefined;
  /** Each is there, or not. */
  withIssues: true | undefined;
  withoutIssues: true | undefined;
  critical: true | undefined;
  medium: true | undefined;
  low: true | undefined;
  contains: string | undefined;
  ids: string | undefined;
}

function valuesOf({
  search,
  statuses = [],
  hasIssues,
  issueSeverity,
  agentId,
  since,
  until,
  source,
  caseQueueId,
  number,
  teamId,
}: RunFilter): Values {
  const text = search?.trim().toLowerCase();
  return {
    ...{ teamId, agentId, since, until, source, caseQueueId, number },
    withIssues: hasIssues === true ? true : undefined,
    withoutIssues: hasIssues === false ? true : undefined,
    critical: issueSeverity === 'critical' ? true : undefined,
    medium: issueSeverity === 'medium' ? true : undefined,
    low: issueSeverity === 'low' ? true : undefined,
    contains: text === undefined ? undefined : `%${escapeLike(text)}%`,
    ids: text === undefined ? undefined : idsWith(text),
    ...Object.fromEntries(statuses.map((status, index) => [`status${index}`, status])),
  };
}

const listed = prepared(
  (db, parameters: Values & RunPage & Slice, values) => {
    // The page is found in the index alone, also when it is far down; only its runs are then read.
    const page = filtered(db, parameters, values)
      .where((where) => where.and(within(parameters, values)))
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
);

const counted = prepared(
  (db, parameters: Values & Slice & Pick<RunPage, 'order'>, values) =>
    filtered(db, parameters, values)
      .where((where) => where.and(within(parameters, values)))
      .select((select) => select.fn.countAll<number>().as('total')),
  (values) => `${values.order} ${namesOf(values).join()}`,
);

/** The run after so many others of a slice that has no end yet. */
const lastOfSlice = prepared(
  (db, parameters: Values & Slice & Pick<RunPage, 'order'> & { skipped: number }, values) =>
    filtered(db, parameters, values)
      .where((where) => where.and(within(parameters, values)))
      .select(['runs.created_at', 'runs.run_number'])
      .orderBy('runs.created_at', values.order)
      .orderBy('runs.run_number', values.order)
      .limit(1)
      .offset(parameters.skipped),
  (values) => `${values.order} ${namesOf(values).join()}`,
);

function filtered(db: Queries, parameters: Values, values: Values) {
  const { teamId } = parameters;
  let query = db.selectFrom('runs');
  if (values.agentId === undefined) query = query.where('runs.team_id', '=', teamId);
  else {
    // The team of the agent is that of its runs; to look at theirs would mean to read every one of them.
    const agentId = parameters.agentId as string;
    query = query.where('runs.agent_id', '=', (from) =>
      from.selectFrom('agents').select('id').where('id', '=', agentId).where('team_id', '=', teamId),
    );
  }
  const statuses = Object.keys(values).filter((name) => name.startsWith('status')) as `status${number}`[];
  if (statuses.length === 1) query = query.where('runs.status', '=', parameters.status0 as RunStatus);
  else if (statuses.length > 1)
    query = query.where(
      'runs.status',
      'in',
      statuses.map((name) => parameters[name] as RunStatus),
    );
  if (values.since !== undefined) query = query.where('runs.created_at', '>=', parameters.since as string);
  if (values.until !== undefined) query = query.where('runs.created_at', '<', parameters.until as string);
  if (values.source !== undefined) query = query.where('runs.source', '=', parameters.source as string);
  if (values.number !== undefined) query = query.where('runs.run_number', '=', parameters.number as number);
  if (values.caseQueueId !== undefined) {
    const queueId = parameters.caseQueueId as string;
    // Looked up run by run: a queue may have any number of cases, and many runs have none.
    query = query
      .where('runs.case_id', 'is not', null)
      .where((where) =>
        where.exists(
          where.selectFrom('cases').select('cases.id').whereRef('cases.id', '=', 'runs.case_id').where('queue_id', '=', queueId),
        ),
      );
  }
  // Those with issues have an index of their own: they are the fewer.
  const judged = () => db.selectFrom('evaluations').select('run_id').where('issues', '>', 0);
  if (values.withIssues) query = query.where('runs.id', 'in', judged());
  if (values.withoutIssues) query = query.where('runs.id', 'not in', judged());
  for (const severity of ['critical', 'medium', 'low'] as const)
    if (values[severity]) query = query.where('runs.id', 'in', judged().where(severity, '>', 0));
  return values.contains === undefined ? query : query.where((where) => found(where, parameters, values));
}

const found = (where: ExpressionBuilder<Database, 'runs'>, { contains, ids }: Values, values: Values) =>
  where.or([
    sql<boolean>`runs.title_folded like ${contains} escape '\\'`,
    ...(values.ids === undefined ? [] : [sql<boolean>`runs.id like ${ids}`]),
    where('runs.agent_id', 'in', (from) =>
      from.selectFrom('agents').select('id').where(sql<boolean>`agents.name_folded like ${contains} escape '\\'`),
    ),
  ]);
