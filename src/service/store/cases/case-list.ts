/**
 * Cases of a queue by filters, for lists, searches, and bulk actions. A case has one of the filter's statuses at a time, which is
 * determined here, so that lists and views agree.
 */
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { CaseStatusFilter } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { escapeLike, idsWith } from '../database/like.ts';
import { bytesOf, fittingCount } from '../database/page-bytes.ts';
import type { CaseRow } from '../database/schema.ts';
import { boundsOf, caseSlice, type Slice, slices, wholeList, withinSlice } from '../database/slices.ts';
import { pendingRequestSizes } from '../runs/human-requests.ts';

export interface CaseFilter {
  queueId: string;
  /** An empty list matches nothing; without one, everything matches. */
  statuses?: readonly CaseStatusFilter[] | undefined;
  /** Positions in casePriorities. */
  priorities?: readonly number[] | undefined;
  /** ISO 8601 in UTC, inclusive. */
  createdFrom?: string | undefined;
  updatedFrom?: string | undefined;
  /** A case has one of the values of every key. */
  labels?: readonly { key: string; values: readonly string[] }[] | undefined;
  /** Part of the title or the data, or the beginning of an ID. */
  search?: string | undefined;
  /** When postponed cases are due (ISO 8601). */
  now: string;
}

export interface CasePage {
  limit: number;
  offset: number;
  sortBy: 'created_at' | 'updated_at' | 'postponed_to';
  order: 'asc' | 'desc';
}

/** The cases of a page; fewer than `matchCount` if they are large (see `fittingCount`). */
export async function listCaseRows(db: Queries, filter: CaseFilter, page: CasePage): Promise<{ rows: CaseRow[]; matchCount: number }> {
  const ids = await listCaseIds(db, filter, page);
  const rows = await casesWithIds(db, ids.slice(0, fittingCount(await caseSizes(db, ids))));
  return { rows, matchCount: ids.length };
}

async function listCaseIds(db: Queries, filter: CaseFilter, page: CasePage): Promise<string[]> {
  const { sortBy, order, limit, offset } = page;
  if (!isIndexed(filter, sortBy) && (await isLong(db, filter)))
    return sortBy === 'created_at' ? idsInOrder(db, filter, page) : sortedIds(db, filter, page);
  let query = filteredCases(db, filter).select('cases.id');
  // Cases that are not postponed come last in either order, because databases disagree on where null belongs.
  if (sortBy === 'postponed_to') query = query.orderBy((eb) => eb.case().when('cases.postponed_to', 'is', null).then(1).else(0).end());
  const rows = await query.orderBy(`cases.${sortBy}`, order).orderBy('cases.number', order).limit(limit).offset(offset).execute();
  return rows.map(({ id }) => id);
}

/** A page of a long queue in the order of creation, read slice by slice until it is full. */
async function idsInOrder(db: Queries, filter: CaseFilter, { order, limit, offset }: CasePage): Promise<string[]> {
  const ids: string[] = [];
  for await (const slice of caseSlices(db, filter, order)) {
    const rows = await inSlice(db, filter, slice, order)
      .select('cases.id')
      .orderBy('cases.created_at', order)
      .orderBy('cases.number', order)
      .limit(offset + limit - ids.length)
      .execute();
    for (const { id } of rows) ids.push(id);
    if (ids.length >= offset + limit) break;
  }
  return ids.slice(offset);
}

/** A page of a long queue in another order: all matches are read slice by slice, and then sorted. */
async function sortedIds(db: Queries, filter: CaseFilter, { sortBy, order, limit, offset }: CasePage): Promise<string[]> {
  const matches: { id: string; number: number; key: string | null }[] = [];
  for await (const slice of caseSlices(db, filter, order)) {
    const rows = await inSlice(db, filter, slice, order)
      .select(['cases.id', 'cases.number', `cases.${sortBy} as key`])
      .execute();
    for (const row of rows) matches.push(row);
  }
  const direction = order === 'asc' ? 1 : -1;
  matches.sort((a, b) => {
    if (a.key === b.key) return direction * (a.number - b.number);
    if (a.key === null || b.key === null) return a.key === null ? 1 : -1;
    return direction * (a.key < b.key ? -1 : 1);
  });
  return matches.slice(offset, offset + limit).map(({ id }) => id);
}

/** Whether an index contains the cases of the filter in this order. */
function isIndexed(
  { statuses, priorities, createdFrom, updatedFrom, labels = [], search }: CaseFilter,
  sortBy: CasePage['sortBy'],
): boolean {
  if (search !== undefined || priorities !== undefined || labels.length > 0) return false;
  const isOneStatus = statuses === undefined || (statuses.length === 1 && (statuses[0] === 'completed' || statuses[0] === 'failed'));
  if (sortBy === 'created_at') return isOneStatus && updatedFrom === undefined;
  return sortBy === 'updated_at' && statuses === undefined && createdFrom === undefined;
}

/** Whether a queue has more cases than one query may read. */
const isLong = async (db: Queries, { queueId }: CaseFilter): Promise<boolean> =>
  (await placeInQueue(db, queueId, wholeList, 'asc', caseSlice)) !== undefined;

/** The slices of all cases of a queue that were created in the period of the filter. */
const caseSlices = (db: Queries, { queueId, createdFrom }: CaseFilter, order: CasePage['order']): AsyncGenerator<Slice, void, undefined> =>
  slices((slice) => placeInQueue(db, queueId, slice, order, caseSlice - 1, createdFrom));

/** The case after this many others of a slice. */
const placeInQueue = (db: Queries, queueId: string, slice: Slice, order: CasePage['order'], skipCount: number, createdFrom?: string) =>
  db
    .selectFrom('cases')
    .select(['created_at', 'number'])
    .where('queue_id', '=', queueId)
    .$if(createdFrom !== undefined && !boundsOf(slice, order).hasStart, (query) => query.where('created_at', '>=', createdFrom as string))
    .where((where) => where.and(withinSlice(slice, { ...slice, order }, inOrder)))
    .orderBy('created_at', order)
    .orderBy('number', order)
    .limit(1)
    .offset(skipCount)
    .executeTakeFirst();

const inOrder = ['cases.created_at', 'cases.number'] as const;

/** The cases of a slice that match. */
const inSlice = (db: Queries, filter: CaseFilter, slice: Slice, order: CasePage['order']) =>
  filteredCases(db, boundsOf(slice, order).hasStart ? { ...filter, createdFrom: undefined } : filter, true).where((where) =>
    where.and(withinSlice(slice, { ...slice, order }, inOrder)),
  );

/** The size in bytes of what is shown of each case, in the order of the IDs. */
async function caseSizes(db: Queries, ids: readonly string[]): Promise<number[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('cases')
    .select(['id', 'claimed_by_run_id', bytesOf('title', 'data').as('bytes')])
    .where('id', 'in', ids)
    .execute();
  const requestSizes = await pendingRequestSizes(
    db,
    rows.flatMap(({ claimed_by_run_id: run }) => run ?? []),
  );
  const sizes = new Map(rows.map((row) => [row.id, row.bytes + (requestSizes.get(row.claimed_by_run_id ?? '') ?? 0)]));
  return ids.map((id) => sizes.get(id) ?? 0);
}

/** The cases, in the order of the IDs. */
async function casesWithIds(db: Queries, ids: readonly string[]): Promise<CaseRow[]> {
  if (ids.length === 0) return [];
  const rows = await db.selectFrom('cases').selectAll().where('id', 'in', ids).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** How many cases match. The result can be off by cases that change while they are counted. */
export async function countCases(db: Queries, filter: CaseFilter): Promise<number> {
  if (isIndexed(filter, 'created_at') || isIndexed(filter, 'updated_at') || !(await isLong(db, filter)))
    return countRows(filteredCases(db, filter));
  let total = 0;
  for await (const slice of caseSlices(db, filter, 'asc')) total += await countRows(inSlice(db, filter, slice, 'asc'));
  return total;
}

async function countRows(query: ReturnType<typeof filteredCases>): Promise<number> {
  const { total } = await query.select((select) => select.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  return Number(total);
}

/** All matching cases, oldest first. */
export async function matchingCases(db: Queries, filter: CaseFilter): Promise<CaseRow[]> {
  return filteredCases(db, filter).selectAll('cases').orderBy('cases.created_at').orderBy('cases.number').execute();
}

/** @param caseByCase whether to look up the labels of each case instead of the cases of each label: for slices, which contain few cases */
function filteredCases(db: Queries, filter: CaseFilter, caseByCase = false) {
  let query = db.selectFrom('cases').where('cases.queue_id', '=', filter.queueId);
  const { statuses, priorities, search } = filter;
  if (statuses !== undefined) query = query.where((where) => where.or(statuses.map((status) => hasStatus(status, filter.now))));
  if (priorities !== undefined) query = query.where((where) => where.or(priorities.map((rank) => where('cases.priority', '=', rank))));
  if (filter.createdFrom !== undefined) query = query.where('cases.created_at', '>=', filter.createdFrom);
  if (filter.updatedFrom !== undefined) query = query.where('cases.updated_at', '>=', filter.updatedFrom);
  for (const { key, values } of filter.labels ?? []) {
    query = query.where((where) => {
      const caseIds = where
        .selectFrom('queue_labels')
        .innerJoin('case_labels', 'case_labels.label_id', 'queue_labels.id')
        .select('case_labels.case_id')
        .where('queue_labels.queue_id', '=', filter.queueId)
        .where('queue_labels.key', '=', key)
        .where('queue_labels.value', 'in', [...values]);
      // Usually fewer cases have the label than are in the queue.
      return caseByCase ? where.exists(caseIds.whereRef('case_labels.case_id', '=', 'cases.id')) : where('cases.id', 'in', caseIds);
    });
  }
  if (search === undefined) return query;
  const text = search.trim().toLowerCase();
  const ids = idsWith(text);
  return query.where((where) =>
    where.or([
      sql<boolean>`cases.search_text like ${`%${escapeLike(text)}%`} escape '\\'`,
      ...(ids === undefined ? [] : [sql<boolean>`cases.id like ${ids}`]),
    ]),
  );
}

/** The status of the run that works on the case. */
const claimantStatus = sql`(select runs.status from runs where runs.id = cases.claimed_by_run_id)`;

/** The condition for each of the filter's statuses; `statusOf` determines the same from a row. */
function hasStatus(status: CaseStatusFilter, now: string): RawBuilder<SqlBool> {
  switch (status) {
    case 'completed':
    case 'failed':
      return sql`cases.status = ${status}`;
    case 'needs_input':
      return sql`cases.status = 'pending' and cases.claimed_by_run_id is not null and ${claimantStatus} = 'waiting'`;
    case 'claimed':
      return sql`cases.status = 'pending' and cases.claimed_by_run_id is not null and ${claimantStatus} <> 'waiting'`;
    case 'postponed':
      return sql`cases.status = 'pending' and cases.claimed_by_run_id is null and cases.postponed_to > ${now}`;
    case 'pending':
      return sql`cases.status = 'pending' and cases.claimed_by_run_id is null and coalesce(cases.postponed_to, '') <= ${now}`;
  }
}

/** The filter's status of a row whose run has this status. */
export function statusOf(
  row: Pick<CaseRow, 'status' | 'claimed_by_run_id' | 'postponed_to'>,
  runStatus: string | undefined,
  now: string,
): CaseStatusFilter {
  if (row.status !== 'pending') return row.status;
  if (row.claimed_by_run_id !== null) return runStatus === 'waiting' ? 'needs_input' : 'claimed';
  return row.postponed_to !== null && row.postponed_to > now ? 'postponed' : 'pending';
}
