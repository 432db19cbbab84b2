/** Filters of runs, as conditions of a query of `runs`. */
import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import type { RunStatus } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { escapeLike, idsWith } from '../database/like.ts';
import { isShared } from '../database/row-locks.ts';
import type { Database } from '../database/schema.ts';
import { type Matches, matchingRows } from './run-search.ts';

const severities = ['critical', 'medium', 'low'] as const;

export interface RunFilter {
  teamId: string;
  agentId?: string;
  /** An empty list matches nothing; without one, everything matches. */
  statuses?: readonly RunStatus[];
  /** ISO 8601 in UTC, inclusive and exclusive. */
  since?: string;
  until?: string;
  source?: string;
  /** Runs for cases of this queue. */
  caseQueueId?: string;
  /** Whether a rubric was not met; a run that has not been evaluated yet has no issues. */
  hasIssues?: boolean;
  /** Runs with an issue of this severity. */
  issueSeverity?: (typeof severities)[number];
  /** The run with this number. */
  number?: number;
  /** Words in the title or the agent's name, or the beginning of an ID. */
  search?: string;
}

/** The filter as the values of a query. */
export interface Values extends Partial<Matches> {
  teamId: string;
  agentId: string | undefined;
  /** One query for each status. */
  status: RunStatus | undefined;
  since: string | undefined;
  until: string | undefined;
  source: string | undefined;
  caseQueueId: string | undefined;
  number: number | undefined;
  /** Each filter is used or not. */
  withIssues: true | undefined;
  withoutIssues: true | undefined;
  critical: true | undefined;
  medium: true | undefined;
  low: true | undefined;
  contains: string | undefined;
  ids: string | undefined;
  /** Whether no agent that has runs has a name that matches. */
  withoutAgents?: true | undefined;
  /** Whether to read the runs with issues in the order of the list, and check the other filters for each of them. */
  byIssue?: true | undefined;
}

const allIssues = { withIssues: undefined, critical: undefined, medium: undefined, low: undefined } as const;

/** The filters for which an index returns runs in the order of the list. */
export const indexedOnly = (values: Values): Values => ({
  ...values,
  ...(values.agentId === undefined ? {} : { source: undefined }),
  ...(values.byIssue ? { status: undefined, source: undefined } : allIssues),
  // The index of the runs of an agent with issues contains those of every severity.
  ...(values.byIssue && values.agentId !== undefined ? { ...allIssues, withIssues: true } : {}),
  caseQueueId: undefined,
  withoutIssues: undefined,
  contains: undefined,
  ids: undefined,
  phrase: undefined,
});

/** A text to search for, in the form in which titles are stored for searches. */
export const foldedSearch = (search: string): string => search.trim().toLowerCase();

/** The LIKE pattern for folded texts that contain a search. */
export const patternOf = (search: string): string => `%${escapeLike(foldedSearch(search))}%`;

/** The values for a filter with one status, or with none. */
export function valuesOf({
  search,
  statuses,
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
  return {
    ...{ teamId, agentId, status: statuses?.[0], since, until, source, caseQueueId, number },
    // There is an index for each severity, but not of the runs of an agent.
    withIssues: (issueSeverity === undefined ? hasIssues : agentId !== undefined) === true ? true : undefined,
    withoutIssues: hasIssues === false ? true : undefined,
    critical: issueSeverity === 'critical' ? true : undefined,
    medium: issueSeverity === 'medium' ? true : undefined,
    low: issueSeverity === 'low' ? true : undefined,
    contains: search === undefined ? undefined : patternOf(search),
    ids: search === undefined ? undefined : idsWith(foldedSearch(search)),
  };
}

/** Whether the best way to find the runs depends on how many have issues, or contain a text. */
export const dependsOnValues = (values: Values): boolean =>
  [values.contains, values.withIssues, values.withoutIssues, values.critical, values.medium, values.low].some(
    (value) => value !== undefined,
  );

export function filteredRuns(db: Queries, parameters: Values, values: Values) {
  const { teamId } = parameters;
  const column = columnsFor(db, values);
  let query = db.selectFrom('runs');
  if (values.agentId === undefined) query = query.where(column('team_id'), '=', teamId);
  else {
    // The agent's team is that of its runs. Checking the team of the runs would read every one of them.
    const agentId = parameters.agentId as string;
    query = query.where(column('agent_id'), '=', (from) =>
      from.selectFrom('agents').select('id').where('id', '=', agentId).where('team_id', '=', teamId),
    );
  }
  if (values.status !== undefined) query = query.where(column('status'), '=', parameters.status as RunStatus);
  if (values.since !== undefined) query = query.where(column('created_at'), '>=', parameters.since as string);
  if (values.until !== undefined) query = query.where(column('created_at'), '<', parameters.until as string);
  if (values.source !== undefined) query = query.where(column('source'), '=', parameters.source as string);
  if (values.number !== undefined) query = query.where(column('run_number'), '=', parameters.number as number);
  if (values.caseQueueId !== undefined) {
    const queueId = parameters.caseQueueId as string;
    // Looked up run by run, because a queue can have any number of cases, and many runs have none.
    query = query
      .where('runs.case_id', 'is not', null)
      .where((where) =>
        where.exists(
          where.selectFrom('cases').select('cases.id').whereRef('cases.id', '=', 'runs.case_id').where('queue_id', '=', queueId),
        ),
      );
  }
  // Each index contains the runs for which one of these is true.
  if (values.withIssues) query = query.where(column('issues'), '>', sql.lit(0));
  for (const severity of severities) if (values[severity]) query = query.where(column(`${severity}_issues`), '>', sql.lit(0));
  if (values.withoutIssues) query = query.where('issues', '=', sql.lit(0));
  if (values.phrase !== undefined) query = query.where(matchingRows(parameters));
  return values.contains === undefined ? query : query.where((where) => containsText(db, where, parameters, values));
}

/** Columns of runs for conditions. */
function columnsFor(db: Queries, { byIssue, phrase }: Values) {
  // SQLite does not know how few matches there are, or how few issues. A plus prevents it from using an index of the column.
  const mayUseIndex = (name: string) => {
    if (isShared(db)) return true;
    if (phrase !== undefined) return false;
    return name.endsWith('issues') ? byIssue === true : byIssue !== true || !['status', 'source'].includes(name);
  };
  return <Name extends keyof Database['runs'] & string>(name: Name) =>
    sql<Selectable<Database['runs']>[Name]>`${sql.raw(mayUseIndex(name) ? '' : '+')}${sql.ref(`runs.${name}`)}`;
}

const containsText = (db: Queries, where: ExpressionBuilder<Database, 'runs'>, { contains, ids }: Values, values: Values) =>
  where.or([
    sql<boolean>`runs.title_folded like ${contains} escape '\\'`,
    // In the form that the index of Postgres contains (search-indexes.ts).
    ...(values.ids === undefined ? [] : [sql<boolean>`${sql.raw(isShared(db) ? 'lower(runs.id)' : 'runs.id')} like ${ids}`]),
    ...(values.withoutAgents ? [] : [ofNamedAgents(where, contains)]),
  ]);

const ofNamedAgents = (where: ExpressionBuilder<Database, 'runs'>, contains: string | undefined) =>
  where('runs.agent_id', 'in', (from) =>
    from.selectFrom('agents').select('id').where(sql<boolean>`agents.name_folded like ${contains} escape '\\'`),
  );
