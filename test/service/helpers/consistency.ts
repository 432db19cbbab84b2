/** What must be true of a database at any time between transactions, and once all work is done. */
import { sql } from 'kysely';
import type { Queries } from '../../../src/service/store/database/database.ts';

const ended = `('completed', 'failed', 'interrupted')`;
const countOf = (change: string) =>
  `(select count(*) from request_events where request_events.request_id = human_requests.id and change = '${change}')`;

/** Selects what is wrong, by the rule that it breaks. */
const rules: Record<string, string> = {
  'the totals of runs are those of the rows': `
    select * from (select agent_id, status, source, count(*) as counted from runs group by 1, 2, 3) as actual
    full outer join (select agent_id, status, source, sum(runs) as noted from run_totals where runs <> 0 group by 1, 2, 3) as totals
      using (agent_id, status, source)
    where coalesce(counted, 0) <> coalesce(noted, 0)`,
  'run numbers have no gaps': `select team_id from runs group by 1 having count(*) <> max(run_number)`,
  'a waiting run has one pending request': `
    select id from runs where status = 'waiting'
      and (select count(*) from human_requests where run_id = runs.id and human_requests.status = 'pending') <> 1`,
  'only a waiting run has a pending request': `
    select runs.id, runs.status from human_requests join runs on runs.id = run_id
    where human_requests.status = 'pending' and runs.status <> 'waiting'`,
  'each request was reported once, and so was its end': `
    select id from human_requests
    where ${countOf('asked')} <> 1 or ${countOf('settled')} <> case when status = 'pending' then 0 else 1 end`,
  'reports of requests have no gaps': `select team_id from request_events group by 1 having count(*) <> max(number)`,
  'a run that has ended is not executed': `
    select runs.id, runs.status, jobs.status from runs join jobs on kind = 'run' and subject_id = runs.id
    where runs.status in ${ended} and jobs.status in ('queued', 'running')`,
  'a run that has to be executed will be': `
    select runs.id, runs.status from runs where status in ('pending', 'running')
      and not exists (select 1 from jobs where kind = 'run' and subject_id = runs.id and jobs.status in ('queued', 'running'))`,
  'messages have no gaps': `select run_id from messages group by 1 having count(*) <> max(seq)`,
  'the history of a case has no gaps': `select case_id from case_events group by 1 having count(*) <> max(seq)`,
  'a claimed case has a run that has not ended': `
    select cases.id, runs.status from cases left join runs on runs.id = claimed_by_run_id
    where cases.status = 'pending' and claimed_by_run_id is not null
      and (runs.id is null or runs.status in ${ended} or runs.case_id <> cases.id)`,
  'a run that is executed for a case has it, unless it has postponed it': `
    select runs.id, cases.status from runs left join cases on cases.id = case_id
    where case_id is not null and runs.status not in ${ended} and runs.status <> 'waiting'
      and claimed_by_run_id is distinct from runs.id
      and not exists (
        select 1 from case_events where case_events.case_id = cases.id and case_events.run_id = runs.id and type = 'postponed'
      )`,
  'a case has labels of its queue': `
    select case_id from case_labels join cases on cases.id = case_id join queue_labels on queue_labels.id = label_id
    where queue_labels.queue_id <> cases.queue_id`,
  'nothing is executed for a deleted agent': `
    select runs.id from runs join agents on agents.id = agent_id where deleted_at is not null and runs.status not in ${ended}`,
  'names of agents are unique': `select name from agents where deleted_at is null group by team_id, name having count(*) > 1`,
  'revision numbers have no gaps': `select agent_id from builds group by 1 having count(*) <> max(revision_number)`,
};

/** The rules that do not hold, with what breaks them. For Postgres, and a database from which nothing has been removed. */
export async function inconsistencies(db: Queries): Promise<[rule: string, rows: unknown[]][]> {
  const found: [string, unknown[]][] = [];
  for (const [rule, query] of Object.entries(rules)) {
    const { rows } = await sql.raw(query).execute(db);
    if (rows.length > 0) found.push([rule, rows]);
  }
  return found;
}
