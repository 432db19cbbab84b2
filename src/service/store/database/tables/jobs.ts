/** Jobs. */
import type { Generated, Selectable } from 'kysely';
import type { Fixed } from './columns.ts';

/** Work that is done outside of requests. */
export interface JobsTable {
  id: Fixed<string>;
  kind: Fixed<string>;
  /** What the job is about; each subject has at most one job of a kind. */
  subject_id: Fixed<string>;
  status: JobStatus;
  /** Milliseconds: the time of the start or retry, and while running the end of the lease. */
  due_at: number;
  owner: string | null;
  /** Increases with every claim and revocation; a worker with an older epoch must not write. */
  epoch: Generated<number>;
  attempts: Generated<number>;
  payload: string | null;
  /** Jobs of one kind and lane share a limit, such as those of a team's runs. Null means no limit. */
  lane: Fixed<string | null>;
}

/** `parked` jobs wait for an event, not for a time. */
export type JobStatus = 'queued' | 'running' | 'parked' | 'done';

export interface JobsTables {
  jobs: JobsTable;
}

export type JobRow = Selectable<JobsTable>;
