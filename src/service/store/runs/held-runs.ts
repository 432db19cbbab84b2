/** Runs as their drivers see them: each query also makes sure that the driver's claim still holds. */
import type { ExpressionBuilder, SqlBool } from 'kysely';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import { isShared, lockRunAndJob } from '../database/row-locks.ts';
import type { Database, RunRow } from '../database/schema.ts';
import type { Claim } from '../jobs/jobs.ts';
import { recipientRows } from '../webhooks/webhooks.ts';

/** What a driver has to know of its run before each write. */
export type HeldRun = RunRow &
  WithWebhooks & {
    /** Number of the last message that a person sent to the run; null if there is none. */
    last_posted: number | null;
    /** Number of the last message; null if there is none. */
    last_message: number | null;
    /** The version of the files in its sandbox. Only on a database that several processes change: only there are versions counted. */
    sandbox_version?: number | null;
  };

interface WithWebhooks {
  /** Whether the team has webhooks. Not read from a database that only one process uses, because it caches them. */
  has_webhooks?: SqlBool;
}

/**
 * The run of a claimed job, or undefined if the claim no longer holds or the run has been removed. In the transaction of a write, this
 * is the fence.
 */
export async function heldRun(trx: Queries, runId: string, claim: Claim): Promise<HeldRun | undefined> {
  await lockRunAndJob(trx, runId, claim.id);
  // Read after the locks, so that it shows what was committed by those who had them before.
  return noteWebhooks(trx, await held.first(trx, claim));
}

/** A transaction that claims several runs learns of webhooks that were created before the latest of them was started. */
function noteWebhooks<Run extends WithWebhooks & RunRow>(db: Queries, run: Run | undefined): Run | undefined {
  if (run?.has_webhooks !== undefined) recipientRows.learn(db, { teamId: run.team_id }, run.has_webhooks ? undefined : []);
  return run;
}

const held = preparedQuery((db, claim: Claim) =>
  db
    .selectFrom('jobs')
    .innerJoin('runs', 'runs.id', 'jobs.subject_id')
    .selectAll('runs')
    .select((select) => [
      lastPosted(select).as('last_posted'),
      select
        .selectFrom('messages')
        .select((last) => last.fn.max('messages.seq').as('last'))
        .whereRef('messages.run_id', '=', 'runs.id')
        .as('last_message'),
    ])
    // Where each transaction would have to read the webhooks of its team, most of them learn here that it has no webhooks.
    .$if(isShared(db), (query) =>
      query.select((select) => [
        hasWebhooks(select).as('has_webhooks'),
        select.selectFrom('sandboxes').select('version').whereRef('sandboxes.id', '=', 'runs.sandbox_id').as('sandbox_version'),
      ]),
    )
    .where('jobs.id', '=', claim.id)
    .where('jobs.epoch', '=', claim.epoch)
    .where('jobs.status', '=', 'running'),
);

/** A run that a driver is about to execute, with what belongs to it. */
export type ExecutedRun = RunRow &
  WithWebhooks & {
    agent_name: string;
    last_posted: number | null;
    /** Whether its sandbox contains a repository, its turn steps or human requests, and the run the session of an agent. */
    has_repository: SqlBool;
    has_steps: SqlBool;
    has_requests: SqlBool;
    has_session: SqlBool;
  };

/** The same for a driver that begins. */
export const executedRun = async (db: Queries, claim: Claim): Promise<ExecutedRun | undefined> =>
  noteWebhooks(db, await executed.first(db, claim));

const executed = preparedQuery((db, claim: Claim) =>
  db
    .selectFrom('jobs')
    .innerJoin('runs', 'runs.id', 'jobs.subject_id')
    .innerJoin('agents', 'agents.id', 'runs.agent_id')
    .selectAll('runs')
    .select('agents.name as agent_name')
    .select((select) => [
      lastPosted(select).as('last_posted'),
      select
        .exists(select.selectFrom('sandbox_repositories').select('sandbox_id').whereRef('sandbox_id', '=', 'runs.sandbox_id'))
        .as('has_repository'),
      select
        .exists(
          select.selectFrom('journal').select('step').whereRef('journal.run_id', '=', 'runs.id').whereRef('journal.turn', '=', 'runs.turn'),
        )
        .as('has_steps'),
      select
        .exists(
          select
            .selectFrom('human_requests')
            .select('human_requests.id')
            .whereRef('human_requests.run_id', '=', 'runs.id')
            .whereRef('human_requests.turn', '=', 'runs.turn'),
        )
        .as('has_requests'),
      select
        .exists(select.selectFrom('agent_sessions').select('run_id').whereRef('agent_sessions.run_id', '=', 'runs.id'))
        .as('has_session'),
    ])
    .$if(isShared(db), (query) => query.select((select) => hasWebhooks(select).as('has_webhooks')))
    .where('jobs.id', '=', claim.id)
    .where('jobs.epoch', '=', claim.epoch)
    .where('jobs.status', '=', 'running'),
);

const lastPosted = (select: ExpressionBuilder<Database, 'runs'>) =>
  select
    .selectFrom('messages')
    .select('messages.seq')
    .whereRef('messages.run_id', '=', 'runs.id')
    .where('messages.role', '=', 'user')
    .where('messages.type', '=', 'message')
    .orderBy('messages.seq', 'desc')
    .limit(1);

const hasWebhooks = (select: ExpressionBuilder<Database, 'runs'>) =>
  select.exists(
    select
      .selectFrom('webhook_subscriptions')
      .select('webhook_subscriptions.id')
      .whereRef('webhook_subscriptions.team_id', '=', 'runs.team_id')
      .where('webhook_subscriptions.deleted_at', 'is', null),
  );
