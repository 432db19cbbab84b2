/** The triggers that repeat the issues of an evaluation in its run (migrations/0038-run-issues.ts). */
import type { Migration } from 'kysely';
import { copyIssues, figuresDiffer, runIssuesWith } from '../migrations/0038-run-issues.ts';

export const runIssues: Migration = runIssuesWith([
  `create function copy_run_issues() returns trigger language plpgsql as $$ begin
    ${copyIssues};
    return null;
  end $$`,
  `create trigger run_issues_insert after insert on evaluations for each row when (new.issues > 0) execute function copy_run_issues()`,
  `create trigger run_issues_update after update on evaluations for each row when (${figuresDiffer}) execute function copy_run_issues()`,
]);
