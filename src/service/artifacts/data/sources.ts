/** Where the figures of each subject come from. SQLite and Postgres share these expressions; no text from a request becomes part of them. */
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { casePriorities } from '../../../interface/case-status.ts';
import type { Queries } from '../../store/database/database.ts';
import type { Database } from '../../store/database/schema.ts';
import type { ColumnKind } from '../content.ts';
import type { Field, Query, SubjectName } from '../page.ts';
import type { Span } from './span.ts';

/** A query for the rows to count or show, from any tables. */
export type Rows = SelectQueryBuilder<Database, never, object>;

export interface Source {
  /** The rows of a team that match a query. */
  rows(db: Queries, teamId: string, query: Query, span: Span): Rows;
  /** When the row was created, ISO 8601. */
  createdAt: RawBuilder<string>;
  fields: Partial<Record<Field, RawBuilder<string | null>>>;
  columns: readonly { label: string; kind: ColumnKind; value: RawBuilder<string | number | null> }[];
}

/** Every subject except usage, which is not counted in rows. */
export type CountedSubject = Exclude<SubjectName, 'usage'>;

/** @param now ISO 8601; decides which postponed cases are due */
export const sourcesAt = (now: string): Readonly<Record<CountedSubject, Source>> => ({
  cases: casesAt(now),
  runs: {
    rows: (db, teamId, query, span) =>
      restrict(
        db.selectFrom('runs').innerJoin('agents', 'agents.id', 'runs.agent_id').where('runs.team_id', '=', teamId),
        'runs',
        query,
        span,
      ),
    createdAt: sql`runs.created_at`,
    fields: { status: sql`runs.status`, agent: sql`agents.name`, source: sql`runs.source` },
    columns: [
      { label: 'Run', kind: 'text', value: sql`runs.title` },
      { label: 'Agent', kind: 'text', value: sql`agents.name` },
      { label: 'Status', kind: 'status', value: sql`runs.status` },
      { label: 'Created', kind: 'time', value: sql`runs.created_at` },
    ],
  },
  requests: {
    rows: (db, teamId, query, span) =>
      restrict(
        db
          .selectFrom('human_requests')
          .innerJoin('runs', 'runs.id', 'human_requests.run_id')
          .innerJoin('agents', 'agents.id', 'runs.agent_id')
          .where('runs.team_id', '=', teamId),
        'human_requests',
        query,
        span,
      ),
    createdAt: sql`human_requests.created_at`,
    fields: { status: sql`human_requests.status`, type: sql`human_requests.type`, agent: sql`agents.name` },
    columns: [
      { label: 'Request', kind: 'text', value: sql`human_requests.title` },
      { label: 'Type', kind: 'text', value: sql`human_requests.type` },
      { label: 'Agent', kind: 'text', value: sql`agents.name` },
      { label: 'Status', kind: 'status', value: sql`human_requests.status` },
      { label: 'Created', kind: 'time', value: sql`human_requests.created_at` },
    ],
  },
  deliveries: {
    rows: (db, teamId, query, span) =>
      restrict(db.selectFrom('deliveries').where('deliveries.team_id', '=', teamId), 'deliveries', query, span),
    createdAt: sql`deliveries.created_at`,
    fields: { status: sql`deliveries.status`, event: sql`deliveries.kind` },
    // Without the URL: it can contain a secret, which must not appear on a page.
    columns: [
      { label: 'Event', kind: 'text', value: sql`deliveries.kind` },
      { label: 'Status', kind: 'status', value: sql`deliveries.status` },
      { label: 'Attempts', kind: 'number', value: sql`deliveries.attempt_count` },
      { label: 'Created', kind: 'time', value: sql`deliveries.created_at` },
    ],
  },
  agents: {
    rows: (db, teamId, query, span) =>
      restrict(db.selectFrom('agents').where('agents.team_id', '=', teamId).where('agents.deleted_at', 'is', null), 'agents', query, span),
    createdAt: sql`agents.created_at`,
    fields: {},
    columns: [
      { label: 'Agent', kind: 'text', value: sql`agents.name` },
      { label: 'Created', kind: 'time', value: sql`agents.created_at` },
      { label: 'Updated', kind: 'time', value: sql`agents.updated_at` },
    ],
  },
});

/** The status of a case, as the list of cases shows it (store/cases/case-list.ts). */
function casesAt(now: string): Source {
  const status = sql<string>`case when cases.status <> 'pending' then cases.status
    when cases.claimed_by_run_id is not null and runs.status = 'waiting' then 'needs_input'
    when cases.claimed_by_run_id is not null then 'in_progress'
    when cases.postponed_to > ${sql.lit(now)} then 'postponed' else 'pending' end`;
  const priority = sql<string>`case cases.priority ${sql.join(
    casePriorities.map((word, rank) => sql`when ${sql.lit(rank)} then ${sql.lit(word)}`),
    sql` `,
  )} end`;
  return {
    rows: (db, teamId, query, span) => {
      const teamCases = db
        .selectFrom('cases')
        .innerJoin('queues', 'queues.id', 'cases.queue_id')
        .leftJoin('runs', 'runs.id', 'cases.claimed_by_run_id')
        .where('queues.team_id', '=', teamId);
      const inQueue = query.queue === undefined ? teamCases : teamCases.where('queues.id', '=', query.queue.id);
      return restrict(inQueue, 'cases', query, span, status);
    },
    createdAt: sql`cases.created_at`,
    fields: { status, priority, queue: sql`queues.name` },
    columns: [
      { label: 'Case', kind: 'text', value: sql`cases.title` },
      { label: 'Queue', kind: 'text', value: sql`queues.name` },
      { label: 'Status', kind: 'status', value: status },
      { label: 'Priority', kind: 'text', value: priority },
      { label: 'Created', kind: 'time', value: sql`cases.created_at` },
    ],
  };
}

/** Restricts rows to the span, status, type, and agent of a query. */
function restrict(
  query: unknown,
  table: CountedSubject | 'human_requests',
  { status, type, agent }: Query,
  { since, until }: Span,
  statusOf: RawBuilder<string> = sql.ref<string>(`${table}.status`),
): Rows {
  let rows = query as Rows;
  const created = sql.ref<string>(`${table}.created_at`);
  if (since !== undefined) rows = rows.where(sql<boolean>`${created} >= ${since}`);
  if (until !== undefined) rows = rows.where(sql<boolean>`${created} < ${until}`);
  if (status !== undefined) rows = rows.where(sql<boolean>`${statusOf} in (${sql.join(status.values)})`);
  if (type !== undefined) rows = rows.where(sql<boolean>`human_requests.type = ${type}`);
  if (agent !== undefined) rows = rows.where(sql<boolean>`runs.agent_id = ${agent.id}`);
  return rows;
}
