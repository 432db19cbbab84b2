/** Which due jobs are claimed together in one transaction. */
import type { Queries } from '../../store/database/database.ts';
import { type Claimant, type ClaimedJob, nextDueTime } from '../../store/jobs/jobs.ts';

/** How many jobs of a kind run at a time, and how one of them is claimed. */
export interface ClaimSlots {
  concurrency: number;
  busyCount: number;
  claim: (trx: Queries, claimant: Claimant) => Promise<ClaimedJob | undefined>;
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
  /** Milliseconds since 1970; infinite if there is none. */
  nextDue: number;
  /** Whether it has reached its limit. */
  isCut: boolean;
}

/**
 * All claims of one process are one commit. Where other nodes wait for the claimed rows, each kind has its own. A kind that locks more than
 * its job, such as the team, has one for each job: the locks of several would be in any order.
 * @param isShared whether other nodes use the database
 */
export function claimTurns(dueKinds: readonly DueKind[], isShared: boolean): ClaimTurn[] {
  if (isShared) return dueKinds.map((due) => ({ dueKinds: [due], limit: due.slots.locksMore ? 1 : Number.POSITIVE_INFINITY }));
  return dueKinds.length > 0 ? [{ dueKinds, limit: Number.POSITIVE_INFINITY }] : [];
}

/**
 * Claims the due jobs of a turn. A transaction can be executed several times, so nothing but its result may remain of it.
 * @param isClosing whether nothing more should be claimed
 */
export async function claimTurn(
  trx: Queries,
  { dueKinds, limit }: ClaimTurn,
  claimant: Omit<Claimant, 'hasAbandoned'>,
  isClosing: () => boolean,
): Promise<Claims> {
  const claims: Claims = { jobs: [], nextDue: Number.POSITIVE_INFINITY, isCut: false };
  for (const { kind, slots, hasAbandoned } of dueKinds) {
    // A kind at its limit is polled again when one of its jobs ends.
    for (let free = slots.concurrency - slots.busyCount; free > 0 && !isClosing(); free--) {
      if (claims.jobs.length === limit) {
        claims.isCut = true;
        break;
      }
      const job = await slots.claim(trx, { ...claimant, hasAbandoned });
      if (job === undefined) {
        // A job that is due but may not be claimed yet waits for another one to end, which wakes the worker.
        claims.nextDue = Math.min(claims.nextDue, (await nextDueTime(trx, kind, claimant.now)) ?? Number.POSITIVE_INFINITY);
        break;
      }
      claims.jobs.push(job);
    }
  }
  return claims;
}
