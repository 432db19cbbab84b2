/**
 * The queue of runs. Each team has a separate lane, in which its runs wait in the order in which they became due. The team's plan
 * limits how many of them are executed at a time: each job with the status `running` takes up one slot. A run that waits for a
 * person, or sleeps, has released its job and takes up none.
 */
import { type ExpressionBuilder, sql } from 'kysely';
import { defaultPlan } from '../access/plan.ts';
import type { Queries } from '../database/database.ts';
import { preparedQuery } from '../database/prepared.ts';
import { isShared, lockRowNow, lockRows } from '../database/row-locks.ts';
import type { Database, JobRow } from '../database/schema.ts';
import { type Claimant, type ClaimedJob, takeAbandoned, takeJob } from '../jobs/jobs.ts';
import { type ExecutedRun, executedRun } from './held-runs.ts';
import { lockUseOfRun, type WorkspaceUse } from './workspace-files.ts';

/** The claimed job of a run, with the run as the transaction that claims it has found it. */
export type ClaimedRun = ClaimedJob & {
  readonly run: ExecutedRun | undefined;
  /** How its sandbox is used. Undefined where there is only one node, or if it has not been read. */
  readonly use?: WorkspaceUse | undefined;
};

/** When the last of the runs that wait for a slot began to wait, in milliseconds; undefined if none does. */
export async function latestWait(db: Queries): Promise<number | undefined> {
  const row = await db
    .selectFrom('teams')
    .innerJoin('runs', 'runs.team_id', 'teams.id')
    .where('runs.status', '=', 'pending')
    .select((select) => select.fn.max('runs.updated_at').as('latest'))
    .executeTakeFirst();
  return row?.latest ? Date.parse(row.latest) : undefined;
}

/**
 * Claims the run job that has been due for longest among the teams with a free slot. A job whose worker has stopped sending
 * heartbeats comes first; it still has its slot. Call it in a transaction, or two workers could both take the last free slot of a team.
 * Returns `locked` if it would have to wait for another transaction, but must not.
 */
export async function claimRunJob(db: Queries, kind: string, claimant: Claimant & { hasClaimed?: false }): Promise<ClaimedRun | undefined>;
export async function claimRunJob(db: Queries, kind: string, claimant: Claimant): Promise<ClaimedRun | 'locked' | undefined>;
export async function claimRunJob(db: Queries, kind: string, claimant: Claimant): Promise<ClaimedRun | 'locked' | undefined> {
  const abandonedJob = await takeAbandoned(db, kind, claimant);
  if (abandonedJob !== undefined) return { ...abandonedJob, run: await executedRun(db, abandonedJob) };
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const next = await nextInLine(db, kind, claimant.now);
    if (next === undefined || !isShared(db)) return next && takeRun(db, next, claimant);
    const lane = next.lane as string;
    const isLocked = lockedLanes.get(db)?.has(lane) === true;
    if (!isLocked && !(await lockLane(db, lane, claimant))) return 'locked';
    // Read again after the lock: another node may have taken the run, or the last free slot.
    const confirmed = isLocked ? next : await inLaneOf.first(db, { kind, now: claimant.now, lane });
    // The run before its job, as whoever stops it does.
    if (confirmed !== undefined && !(await lockRun(db, confirmed.subject_id, claimant))) return 'locked';
    const job = confirmed && (await takeRun(db, confirmed, claimant));
    if (job !== undefined) return job;
  }
  return undefined;
}

/** Claims a job, and reads its run and its sandbox without waiting for that; undefined if another worker was faster. */
async function takeRun(db: Queries, candidate: JobRow, claimant: Claimant): Promise<ClaimedRun | undefined> {
  const { id, kind, epoch, subject_id: runId } = candidate;
  const [job, run, use] = await Promise.all([
    takeJob(db, candidate, claimant),
    executedRun(db, { id, epoch: epoch + 1 }),
    isShared(db) ? lockUseOfRun(db, { runId, jobId: id, jobKind: kind, node: claimant.owner }) : undefined,
  ]);
  return job && { ...job, run, use };
}

type Waiting = Pick<Claimant, 'hasClaimed'>;

/**
 * Prevents other nodes from claiming a run of the lane until the transaction ends. Not the row of the team, which new runs lock.
 * Returns whether that is so: a transaction that has claimed something does not wait.
 */
export async function lockLane(trx: Queries, lane: string, { hasClaimed = false }: Waiting = {}): Promise<boolean> {
  const name = `lane ${lane}`;
  if (hasClaimed) {
    if ((await tryLaneLock.only(trx, { name })).locked !== 1) return false;
  } else await laneLock.send(trx, { name });
  lockedLanes.set(trx, (lockedLanes.get(trx) ?? new Set()).add(lane));
  return true;
}

const laneLock = preparedQuery((db, { name }: { name: string }) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended(${name}, 0))`.as('locked')),
);

const tryLaneLock = preparedQuery((db, { name }: { name: string }) =>
  db.selectNoFrom(sql<number>`pg_try_advisory_xact_lock(hashtextextended(${name}, 0))`.as('locked')),
);

async function lockRun(trx: Queries, id: string, { hasClaimed = false }: Waiting): Promise<boolean> {
  if (hasClaimed) return lockRowNow(trx, 'runs', id);
  await lockRows(trx, 'runs', [id]);
  return true;
}

/** The lanes that a transaction has locked. */
const lockedLanes = new WeakMap<Queries, Set<string>>();

/** How often a run is looked for if other nodes are faster; then the worker polls again. */
const maxAttempts = 3;

/** How many slots of the lane are in use. */
export async function countExecuting(db: Queries, kind: string, teamId: string): Promise<number> {
  return Number((await executing.only(db, { kind, teamId })).count);
}

const executing = preparedQuery((db, { kind, teamId }: { kind: string; teamId: string }) =>
  db
    .selectFrom('jobs')
    .select((select) => select.fn.countAll().as('count'))
    .where('kind', '=', kind)
    .where('lane', '=', teamId)
    .where('status', '=', 'running'),
);

/** Reads only the first job of each lane, however many are waiting. Runs that became due at the same moment are sorted by number. */
const nextInLine = (db: Queries, kind: string, now: number): Promise<JobRow | undefined> => inLine.first(db, { kind, now });

const inLine = preparedQuery((db, { kind, now }: { kind: string; now: number }) => lanes(db, { kind, now }));

const inLaneOf = preparedQuery((db, { lane, kind, now }: { kind: string; now: number; lane: string }) =>
  lanes(db, { kind, now }).where('teams.id', '=', lane),
);

/** The first job of each lane with a free slot, of which the first is returned. */
function lanes(db: Queries, { kind, now }: { kind: string; now: number }) {
  const waiting = (where: ExpressionBuilder<Database, 'teams'>) =>
    where
      .selectFrom('jobs as waiting')
      .where('waiting.kind', '=', kind)
      .whereRef('waiting.lane', '=', 'teams.id')
      .where('waiting.status', '=', 'queued');
  // Its time is looked up first. Otherwise Postgres reads all waiting jobs, and their runs, to sort them by time and number.
  const first = (where: ExpressionBuilder<Database, 'teams'>) =>
    waiting(where)
      .innerJoin('runs as owner', 'owner.id', 'waiting.subject_id')
      .select('waiting.id')
      .where('waiting.due_at', '=', (time) =>
        waiting(time as unknown as ExpressionBuilder<Database, 'teams'>)
          .select('waiting.due_at')
          .where('waiting.due_at', '<=', now)
          .orderBy('waiting.due_at')
          .limit(1),
      )
      .orderBy('owner.run_number')
      .limit(1);
  return db
    .selectFrom('teams')
    .innerJoin('jobs', (join) => join.on((on) => on('jobs.id', '=', first(on as unknown as ExpressionBuilder<Database, 'teams'>))))
    .leftJoin('plans', 'plans.team_id', 'teams.id')
    .selectAll('jobs')
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
}
