/** Looks up what a block of a page shows. */
import { type RawBuilder, sql } from 'kysely';
import { capitalize } from '../../../base/capitalize.ts';
import { teamUsage } from '../../plans/usage.ts';
import type { Queries } from '../../store/database/database.ts';
import type { BlockContent, ColumnKind, DataContent, PageContent, TableContent } from '../content.ts';
import { type DataBlock, type Field, type PageSpec, timeFields } from '../page.ts';
import { titleOf } from '../subjects.ts';
import { type CountedSubject, type Source, sourcesAt } from './sources.ts';
import { bucketLength, series, spanOf } from './span.ts';

/** The maximum number of rows in a table and of bars in a chart. A chart adds up the rest. */
const maxRows = 100;
const maxBars = 20;

/** The current figures of a page. Call it in a transaction, so that all of them are from the same moment. */
export async function lookUp(db: Queries, teamId: string, page: PageSpec, now: number): Promise<PageContent> {
  const blocks: BlockContent[] = [];
  for (const block of page.blocks) {
    if (block.kind === 'text') blocks.push(block);
    else {
      const data = await figures(db, teamId, block, now);
      blocks.push({ id: block.id, kind: 'data', title: titleOf(block), subject: block.query.subject, data });
    }
  }
  return { title: page.title, asOf: new Date(now).toISOString(), blocks };
}

async function figures(db: Queries, teamId: string, block: DataBlock, now: number): Promise<DataContent> {
  if (block.query.subject === 'usage') return usage(db, teamId, now);
  const source = sourcesAt(new Date(now).toISOString())[block.query.subject as CountedSubject];
  const span = spanOf(block.query.period, now);
  const rows = () => source.rows(db, teamId, block.query, span);
  if (block.by === undefined && block.form === 'table') return table(source, rows);
  const total = await count(rows);
  if (block.by === undefined) return { kind: 'number', value: total };
  const overTime = timeFields.includes(block.by);
  const counts = await countGroups(rows, overTime ? bucketOf(source, block.by) : (source.fields[block.by] as RawBuilder<string | null>));
  if (overTime) {
    const points = series(block.by, new Map(counts.map(({ label, value }) => [label, value])), span, now);
    if (block.form === 'table') return timeTable(block.by, points, counts, total);
    return { kind: 'series', as: block.form === 'line' ? 'line' : 'bars', points, total, ...earlierSum(points, counts) };
  }
  if (block.form === 'table') return countTable(block.by, counts, total);
  const bars = counts.length > maxBars ? counts.slice(0, maxBars - 1) : counts;
  const remaining = counts.slice(bars.length);
  const allBars =
    remaining.length === 0
      ? bars
      : [...bars, { label: `${remaining.length} others`, value: remaining.reduce((sum, { value }) => sum + value, 0) }];
  return { kind: 'bars', bars: allBars.map((bar) => ({ ...bar, ...(block.by === 'status' ? { status: true } : {}) })), total };
}

const bucketOf = ({ createdAt }: Source, field: Field): RawBuilder<string> => sql`substr(${createdAt}, 1, ${sql.lit(bucketLength(field))})`;

type MakeRows = () => ReturnType<Source['rows']>;

async function count(rows: MakeRows): Promise<number> {
  const { total } = await rows().select(sql<number>`count(*)`.as('total')).executeTakeFirstOrThrow();
  return Number(total);
}

/** Returns the counts, largest first. */
async function countGroups(rows: MakeRows, expression: RawBuilder<string | null>): Promise<{ label: string; value: number }[]> {
  const counts = await rows()
    .select([expression.as('label'), sql<number>`count(*)`.as('value')])
    .groupBy(expression)
    .orderBy(sql`count(*)`, 'desc')
    .orderBy(expression)
    .execute();
  return counts.map(({ label, value }) => ({ label: label ?? 'none', value: Number(value) }));
}

async function table({ columns, createdAt }: Source, rows: MakeRows): Promise<DataContent> {
  const rowsFound = await rows()
    .select(columns.map(({ value }, index) => value.as(`c${index}`)))
    .orderBy(createdAt, 'desc')
    .limit(maxRows)
    .execute();
  return {
    kind: 'table',
    columns: columns.map(({ label, kind }) => ({ label, kind })),
    rows: rowsFound.map((row) => columns.map((_, index) => (row as Record<string, string | number | null>)[`c${index}`] ?? null)),
    total: await count(rows),
  };
}

type Counts = readonly { label: string; value: number }[];

const countTable = (field: Field, counts: Counts, total: number): TableContent => ({
  kind: 'table',
  columns: countColumns(field, field === 'status' ? 'status' : 'text', total),
  rows: countRows(counts.slice(0, maxRows)),
  total: counts.length,
});

/** A table of counts over time shows the latest counts. */
function timeTable(field: Field, points: Counts, counts: Counts, total: number): TableContent {
  const visiblePoints = points.slice(-maxRows);
  const rows = countRows(visiblePoints);
  return { kind: 'table', columns: countColumns(field, 'bucket', total), rows, total: rows.length, ...earlierSum(visiblePoints, counts) };
}

const countColumns = (field: Field, kind: ColumnKind, total: number): TableContent['columns'] => [
  { label: capitalize(field), kind },
  { label: `Number (${total} in total)`, kind: 'number' },
];

const countRows = (counts: Counts): [string, number][] => counts.map(({ label, value }) => [label, value]);

/** The sum of the counts before the first one that is shown. */
function earlierSum([first]: Counts, counts: Counts): { earlier?: number } {
  const earlierCount = counts.reduce((sum, { label, value }) => (first !== undefined && label < first.label ? sum + value : sum), 0);
  return earlierCount === 0 ? {} : { earlier: earlierCount };
}

async function usage(db: Queries, teamId: string, now: number): Promise<DataContent> {
  const { period, agentRuns, clarityInterviews, assignments, concurrency } = await teamUsage(db, teamId, now);
  return {
    kind: 'usage',
    limits: [
      { label: 'Runs', used: agentRuns.used, limit: agentRuns.limit },
      { label: 'Clarity interviews', used: clarityInterviews.used, limit: clarityInterviews.limit },
      { label: 'Agents', used: assignments.used, limit: assignments.limit },
      { label: 'Runs at a time', used: concurrency.used, limit: concurrency.limit },
    ],
    period: { start: period.start ?? '', end: period.end ?? '' },
  };
}
