/**
 * How often a run was interrupted in the same place. A step in which the service ends again and again, because of the step or not,
 * must not be begun for ever: the runtime is told, and gives it up.
 */
import type { Queries } from '../../store/database/database.ts';
import type { RunRow } from '../../store/database/schema.ts';
import { type ClaimedJob, noteOnJob } from '../../store/jobs/jobs.ts';
import { countCompletedSteps } from '../../store/runs/journal.ts';

interface Interruptions {
  /** What the run had done by then: entries of the journal of its turn. */
  turn: number;
  done: number;
  /** In a row. */
  times: number;
}

/**
 * Counts an interruption in the transaction that takes the run over, and tells how many there have been since the run last got
 * anywhere. None where the job was given back: by a service that was stopped, or a run that waited.
 */
export async function countInterruptions(trx: Queries, job: ClaimedJob, run: RunRow): Promise<number> {
  if (!job.interrupted) return 0;
  const before = job.payload === null ? undefined : (JSON.parse(job.payload) as Interruptions);
  const done = await countCompletedSteps(trx, run.id, run.turn);
  const isSame = before?.turn === run.turn && before.done === done;
  const times = isSame ? before.times + 1 : 1;
  await noteOnJob(trx, job, { turn: run.turn, done, times } satisfies Interruptions);
  return times;
}
