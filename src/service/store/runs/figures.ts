/** Metrics of the whole service, for its operators. */
import type { Queries } from '../database/database.ts';

/** How many runs and webhook deliveries there are in each status. */
export async function countByStatus(db: Queries): Promise<{ runs: Map<string, number>; deliveries: Map<string, number> }> {
  const runs = await db
    .selectFrom('run_totals')
    .select((select) => ['status', select.fn.sum<number>('runs').as('count')])
    .groupBy('status')
    .execute();
  const deliveries = await db
    .selectFrom('deliveries')
    .select((select) => ['status', select.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute();
  const counts = (rows: { status: string; count: number }[]) => new Map(rows.map(({ status, count }) => [status, Number(count)]));
  return { runs: counts(runs), deliveries: counts(deliveries) };
}

export interface JobBacklog {
  runningCount: number;
  /** How many jobs are queued and due. */
  dueCount: number;
  /** When the first of these became due. */
  overdueSeconds: number;
}

/** The due jobs of each kind at this time (milliseconds). */
export async function jobBacklog(db: Queries, kinds: readonly string[], now: number): Promise<Map<string, JobBacklog>> {
  const backlog = new Map<string, JobBacklog>();
  for (const kind of kinds) {
    const jobs = db.selectFrom('jobs').where('kind', '=', kind);
    const { running } = await jobs
      .where('status', '=', 'running')
      .select((select) => select.fn.countAll().as('running'))
      .executeTakeFirstOrThrow();
    const { due, first } = await jobs
      .where('status', '=', 'queued')
      .where('due_at', '<=', now)
      .select((select) => [select.fn.countAll().as('due'), select.fn.min<number | null>('due_at').as('first')])
      .executeTakeFirstOrThrow();
    backlog.set(kind, {
      runningCount: Number(running),
      dueCount: Number(due),
      overdueSeconds: first === null ? 0 : (now - Number(first)) / 1_000,
    });
  }
  return backlog;
}
