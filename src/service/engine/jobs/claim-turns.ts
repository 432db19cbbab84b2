/** Which due jobs are claimed together in one transaction. */
import type { Queries } from '../../store/database/database.ts';
import { type Claimant, type ClaimedJob, nextDueTime } from '../../store/jobs/jobs.ts';
import type { JobClaim } from './job.ts';

/** How many jobs of a kind run at a time, and how one of them is claimed. */
export interface ClaimSlots {
  concurrency: number;
  busyCount: number;
  claim: (trx: Queries, claimant: Claimant) => ReturnType<JobClaim>;
  /** Whether a claim locks other rows than that of its job. */
  locksMore: boolean;
}

/** A kind with jobs that are due, or whose leases have ended (`hasAbandoned`). */
export interface DueKind {
  kind: string;
  slots: ClaimSlots;
  hasAbandoned: boolean;
}

/** Kinds whose jobs are claimed in one transaction, and how many jobs it claims at most. */
export interface ClaimTurn {
  dueKinds: readonly DueKind[];
  limit: number;
}

/** What a transaction has claimed, and when the next of the other jobs is due. */
export interface Claims {
  jobs: ClaimedJob[];
  /**
   * For each kind that has nothing more to claim: when its next job is due, in milliseconds since 1970, or undefined if it has no other job.
   * Known when the transaction ends.
   */
  dueTimes: Promise<number | undefined>[];
  /** Whether there may be more to claim in another transaction: it has reached its limit, or would have had to wait for others. */
  isCut: boolean;
}

/** How many jobs that lock more than themselves one transaction claims: others wait for its locks. */
const maxTogether = 8;

/**
 * All claims of one process are one commit. Where other nodes wait for the claimed rows, each kind has its own. Jobs of a kind that locks
 * more than them, such as the run, are claimed a few at a time. Those whose leases have ended are claimed alone, because they are locked
 * before their runs, and others lock the runs first.
 * @param isShared whether other nodes use the database
 */
export function claimTurns(dueKinds: readonly DueKind[], isShared: boolean): ClaimTurn[] {
  if (isShared) return dueKinds.map((due) => ({ dueKinds: [due], limit: limitOf(due) }));
  return dueKinds.length > 0 ? [{ dueKinds, limit: Number.POSITIVE_INFINITY }] : [];
}

function limitOf({ slots, hasAbandoned }: DueKind): number {
  if (!slots.locksMore) return Number.POSITIVE_INFINITY;
  return hasAbandoned ? 1 : maxTogether;
}

/**
 * Claims the due jobs of a turn. A transaction can be executed several times, so nothing but its result may remain of it.
 * @param isClosing whether nothing more should be claimed
 */
export async function claimTurn(
  trx: Queries,
  { dueKinds, limit }: ClaimTurn,
  claimant: Omit<Claimant, 'hasAbandoned' | 'hasClaimed'>,
  isClosing: () => boolean,
): Promise<Claims> {
  const claims: Claims = { jobs: [], dueTimes: [], isCut: false };
  for (const { kind, slots, hasAbandoned } of dueKinds) {
    // A kind at its limit is polled again when one of its jobs ends.
    for (let free = slots.concurrency - slots.busyCount; free > 0 && !isClosing(); free--) {
      if (claims.jobs.length === limit) {
        claims.isCut = true;
        break;
      }
      const job = await slots.claim(trx, { ...claimant, hasAbandoned, hasClaimed: claims.jobs.length > 0 });
      if (job === 'locked') {
        claims.isCut = true;
        break;
      }
      if (job === undefined) {
        // A job that is due but may not be claimed yet waits for another one to end, which wakes the worker.
        const dueTime = nextDueTime(trx, kind, claimant.now);
        // The transaction does not wait for it, and fails for the same reason.
        dueTime.catch(() => undefined);
        claims.dueTimes.push(dueTime);
        break;
      }
      claims.jobs.push(job);
    }
  }
  return claims;
}
