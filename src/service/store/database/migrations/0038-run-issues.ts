/**
 * The issues of an evaluation, repeated in its run: only a list of runs with an index in its own order is as fast with many issues as with
 * a few. Triggers maintain them in the transaction that changes the evaluation.
 */
import { type Kysely, type Migration, sql } from 'kysely';

const columns = ['issues', 'critical_issues', 'medium_issues', 'low_issues'];

/** The same columns of an evaluation. */
const figures = ['issues', 'critical', 'medium', 'low'];

const rowOf = (row: 'new' | 'old' | 'evaluations'): string => figures.map((name) => `${row}.${name}`).join(', ');

/** Sets the columns of the run of an evaluation. */
export const copyIssues = `update runs set (${columns.join(', ')}) = (select ${rowOf('new')}) where id = new.run_id`;
export const figuresDiffer = `(${rowOf('new')}) is distinct from (${rowOf('old')})`;

/** The runs of a team with issues, also by severity; those of an agent are fewer. SQLite reads the condition of an index from it, too. */
const statements = [
  ...columns.map((name) => `alter table runs add column ${name} integer not null default 0`),
  ...columns.map((name) => `create index runs_with_${name} on runs (team_id, created_at, run_number, id, ${name}) where ${name} > 0`),
  `create index runs_with_issues_by_agent on runs (agent_id, created_at, run_number, id, issues) where issues > 0`,
  `update runs set (${columns.join(', ')}) = (select ${rowOf('evaluations')} from evaluations where evaluations.run_id = runs.id)
    where id in (select run_id from evaluations where issues > 0)`,
];

/** @param triggers statements that create the triggers, which differ between databases */
export const runIssuesWith = (triggers: readonly string[]): Migration => ({
  up: async (db: Kysely<never>): Promise<void> => {
    for (const statement of [...statements, ...triggers]) await sql.raw(statement).execute(db);
  },
});

export const runIssues: Migration = runIssuesWith([
  `create trigger run_issues_insert after insert on evaluations when new.issues > 0 begin ${copyIssues}; end`,
  `create trigger run_issues_update after update on evaluations when ${figuresDiffer} begin ${copyIssues}; end`,
]);
