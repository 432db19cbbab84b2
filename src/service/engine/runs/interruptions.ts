/**
 * Counts how often a run was interrupted at the same step. A step during which the service keeps ending, whether or not the step
 * is the cause, must not be retried for ever: the runtime learns the count and gives up.
 */
import type { Queries } from '../../store/database/database.ts';
import type { RunRow } from '../../store/database/schema.ts';
import { type ClaimedJob, noteOnJob } from '../../store/jobs/jobs.ts';
import { countCompletedSteps } from '../../store/runs/journal.ts';

interface Interruptions {
  /** The progress of the run at that point: its turn, and the number of journal entries in it. */
  turn: number;
  done: number;
  /** Interruptions in a row. */
  times: number;
}

/**
 * Counts an interruption in the transaction that takes the run over, and returns how many there have been since the run last made
 * progress. If the job was released properly, by a service that was stopped or a run that waited, the result is 0.
 */
export async function countInterruptions(trx: Queries, job: ClaimedJob, run: RunRow): Promise<number> {
  if (!job.wasInterrupted) return 0;
  const before = job.payload === null ? undefined : (JSON.parse(job.payload) as Interruptions);
  const done = await countCompletedSteps(trx, run.id, run.turn);
  const isSame = before?.turn === run.turn && before.done === done;
  const times = isSame ? before.times + 1 : 1;
  await noteOnJob(trx, job, { turn: run.turn, done, times } satisfies Interruptions);
  return times;
}
