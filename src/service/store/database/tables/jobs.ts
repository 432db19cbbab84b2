/** Jobs. */
import type { Generated, Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

/** Everything that is to be done later or elsewhere than in a request. */
export interface JobsTable {
  id: Fixed<string>;
  kind: Fixed<string>;
  /** What it works on; at most one job of a kind for each subject. */
  subject_id: Fixed<string>;
  status: JobStatus;
  /** Milliseconds: start time, retry time and, while running, end of the lease. */
  due_at: number;
  owner: string | null;
  /** Grows with every claim and every revocation; whoever holds an older one may not write. */
  epoch: Generated<number>;
  attempts: Generated<number>;
  payload: string | null;
  /** Jobs of one kind and lane share a limit: the team of a run. Null has none. */
  lane: Fixed<string | null>;
}

/** `parked` waits for something other than time. */
export type JobStatus = 'queued' | 'running' | 'parked' | 'done';

export interface JobsTables {
  jobs: JobsTable;
}

export type JobRow = Selectable<JobsTable>;
