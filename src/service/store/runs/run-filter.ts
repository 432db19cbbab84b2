/** Filters of runs, as conditions of a query of `runs`. */
import { type ExpressionBuilder, sql } from 'kysely';
import type { RunStatus } from '../../../interface/types.ts';
import type { Queries } from '../database/database.ts';
import { escapeLike, idsWith } from '../database/like.ts';
import { isShared } from '../database/row-locks.ts';
import type { Database } from '../database/schema.ts';
import { type Matches, matchingRows } from './run-search.ts';

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
  issueSeverity?: 'critical' | 'medium' | 'low';
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
  [status: `status${number}`]: RunStatus;
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
  /** Whether to look up the issues of each run instead of the runs of all issues: for slices, which contain few runs. */
  runByRun?: true | undefined;
  /** Whether to begin with the issues, if they are few, and look up the run of each. */
  byIssue?: true | undefined;
}

/** Whether the query begins with a set that is smaller than any that an index of `runs` determines. */
const beginsElsewhere = ({ byIssue, phrase }: Values): boolean => byIssue === true || phrase !== undefined;

/** The filters for which an index returns runs in the order of the list. */
export const indexedOnly = (values: Values): Values => ({
  ...values,
  source: values.agentId === undefined ? values.source : undefined,
  caseQueueId: undefined,
  withIssues: undefined,
  withoutIssues: undefined,
  critical: undefined,
  medium: undefined,
  low: undefined,
  contains: undefined,
  ids: undefined,
  runByRun: undefined,
  phrase: undefined,
});

/** A text to search for, in the form in which titles are stored for searches. */
export const foldedSearch = (search: string): string => search.trim().toLowerCase();

/** The LIKE pattern for folded texts that contain a search. */
export const patternOf = (search: string): string => `%${escapeLike(foldedSearch(search))}%`;

export function valuesOf({
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
  return {
    ...{ teamId, agentId, since, until, source, caseQueueId, number },
    withIssues: hasIssues === true ? true : undefined,
    withoutIssues: hasIssues === false ? true : undefined,
    critical: issueSeverity === 'critical' ? true : undefined,
    medium: issueSeverity === 'medium' ? true : undefined,
    low: issueSeverity === 'low' ? true : undefined,
    contains: search === undefined ? undefined : patternOf(search),
    ids: search === undefined ? undefined : idsWith(foldedSearch(search)),
    ...Object.fromEntries(statuses.map((status, index) => [`status${index}`, status])),
  };
}

/** Whether the best way to find the runs depends on how many have issues, or contain a text. */
export const dependsOnValues = (values: Values): boolean =>
  [values.contains, values.withIssues, values.withoutIssues, values.critical, values.medium, values.low].some(
    (value) => value !== undefined,
  );

export function filteredRuns(db: Queries, parameters: Values, values: Values) {
  const { teamId } = parameters;
  // The plus prevents SQLite from using an index of the column: it does not know how few issues or matches there are.
  const column = <Name extends keyof Database['runs'] & string>(name: Name) =>
    sql<Database['runs'][Name]>`${sql.raw(beginsElsewhere(values) ? '+' : '')}${sql.ref(`runs.${name}`)}`;
  let query = db.selectFrom('runs');
  if (values.agentId === undefined) query = query.where(column('team_id'), '=', teamId);
  else {
    // The agent's team is that of its runs. Checking the team of the runs would read every one of them.
    const agentId = parameters.agentId as string;
    query = query.where(column('agent_id'), '=', (from) =>
      from.selectFrom('agents').select('id').where('id', '=', agentId).where('team_id', '=', teamId),
    );
  }
  const statuses = Object.keys(values).filter((name) => name.startsWith('status')) as `status${number}`[];
  if (statuses.length === 1) query = query.where(column('status'), '=', parameters.status0 as RunStatus);
  else if (statuses.length > 1)
    query = query.where(
      column('status'),
      'in',
      statuses.map((name) => parameters[name] as RunStatus),
    );
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
  query = query.where((where) => where.and(issueConditions(where, values)));
  if (values.phrase !== undefined) query = query.where(matchingRows(parameters, values));
  return values.contains === undefined ? query : query.where((where) => containsText(db, where, parameters, values));
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

/** The conditions on issues. Runs with issues have a separate index, because they are fewer. */
function issueConditions(where: ExpressionBuilder<Database, 'runs'>, values: Values) {
  const issues = where.selectFrom('evaluations').select('evaluations.run_id').where('evaluations.issues', '>', 0);
  const severities = (['critical', 'medium', 'low'] as const).filter((severity) => values[severity]);
  const sets = [...(values.withIssues ? [issues] : []), ...severities.map((severity) => issues.where(`evaluations.${severity}`, '>', 0))];
  // A range of one ID, because for an equal ID SQLite prefers the index of all evaluations, and then reads the row of each run from the disk.
  const isIn = (set: typeof issues) =>
    values.runByRun
      ? where.exists(set.whereRef('evaluations.run_id', '>=', 'runs.id').whereRef('evaluations.run_id', '<=', 'runs.id'))
      : where('runs.id', 'in', set);
  return [...sets.map(isIn), ...(values.withoutIssues ? [where.not(isIn(issues))] : [])];
}
