/**
 * The queue of runs. A team's runs wait in a lane of their own, in the order in which they became due, and no more of them are
 * executed at a time than the team's plan allows: what holds a place is a job in status `running`. A run that waits for a person,
 * or sleeps, has given its job back and holds none.
 */
import type { ExpressionBuilder } from 'kysely';
import { defaultPlan } from '../access/plan.ts';
import { lockTeam } from '../access/teams.ts';
import type { Queries } from '../database/database.ts';
import { prepared } from '../database/prepared.ts';
import type { Database } from '../database/schema.ts';
import { type ClaimBy, type ClaimedJob, takeAbandoned, takeJob } from '../jobs/jobs.ts';

/**
 * Takes the run job that has been due for longest among the teams with room. One whose worker fell silent comes first, and
 * needs no room: it has its place already.
 */
export async function claimRunJob(db: Queries, kind: string, by: ClaimBy): Promise<ClaimedJob | undefined> {
  const abandoned = await takeAbandoned(db, kind, by);
  if (abandoned !== undefined) return abandoned;
  for (;;) {
    const next = await nextInLine(db, kind, by.now);
    if (next === undefined) return undefined;
    const job = await db.transaction().execute(async (trx) => {
      // Two workers of one team, on two nodes, would each find the last place free.
      await lockTeam(trx, next.lane);
      if ((await countExecuting(trx, kind, next.lane)) >= (await roomOf(trx, next.lane))) return undefined;
      return takeJob(trx, { ...next, status: 'queued' }, by);
    });
    // Otherwise another worker was faster; then there may be a next one.
    if (job !== undefined) return job;
  }
}

/** Places of the lane that are taken. */
export async function countExecuting(db: Queries, kind: string, teamId: string): Promise<number> {
  return Number((await executing.only(db, { kind, teamId })).count);
}

const executing = prepared((db, { kind, teamId }: { kind: string; teamId: string }) =>
  db
    .selectFrom('jobs')
    .select((select) => select.fn.countAll().as('count'))
    .where('kind', '=', kind)
    .where('lane', '=', teamId)
    .where('status', '=', 'running'),
);

const roomOf = async (db: Queries, teamId: string): Promise<number> =>
  (await room.first(db, { teamId }))?.max_concurrent_runs ?? defaultPlan.maxConcurrentRuns;

const room = prepared((db, { teamId }: { teamId: string }) =>
  db.selectFrom('plans').select('max_concurrent_runs').where('team_id', '=', teamId),
);

/** Looks at the first of each lane alone, however many wait behind it. Runs that became due at the same moment go by their number. */
const nextInLine = (db: Queries, kind: string, now: number): Promise<{ id: string; epoch: number; lane: string } | undefined> =>
  inLine.first(db, { kind, now });

const inLine = prepared((db, { kind, now }: { kind: string; now: number }) => {
  const first = (where: ExpressionBuilder<Database, 'teams'>) =>
    where
      .selectFrom('jobs as waiting')
      .innerJoin('runs as owner', 'owner.id', 'waiting.subject_id')
      .select('waiting.id')
      .where('waiting.kind', '=', kind)
      .whereRef('waiting.lane', '=', 'teams.id')
      .where('waiting.status', '=', 'queued')
      .where('waiting.due_at', '<=', now)
      .orderBy('waiting.due_at')
      .orderBy('owner.run_number')
      .limit(1);
  return db
    .selectFrom('teams')
    .innerJoin('jobs', (join) => join.on((on) => on('jobs.id', '=', first(on as unknown as ExpressionBuilder<Database, 'teams'>))))
    .leftJoin('plans', 'plans.team_id', 'teams.id')
    .select(['jobs.id', 'jobs.epoch', 'teams.id as lane'])
    .where((where) =>
      where(
        where
          .selectFrom('jobs as executing')
          .select((select) => select.fn.countAll().as('count'))
          .where('executing.kind', '=', kind)
          .whereRef('executing.lane', '=', 'teams.id')
          .where('executing.status', '=', 'running'),
        '<',
        where.fn.coalesce('plans.max_concurrent_runs', where.val(defaultPlan.maxConcurrentRuns)),
      ),
    )
    .orderBy('jobs.due_at')
    .limit(1);
});
