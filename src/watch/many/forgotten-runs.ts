/** What is kept of runs that ended a while ago, by watches that last for weeks: how far they were reported, in case they continue. */
import type { RunListItem } from '../../interface/types.ts';
import type { RunPosition } from '../resume/run-position.ts';
import { isFinal } from '../run-status.ts';
import type { WatchedRun } from './watched-run.ts';

interface ForgottenRun {
  position: RunPosition;
  /** Times in ISO 8601, if they are known. */
  createdAt: string | undefined;
  completedAt: string | null | undefined;
}

export class ForgottenRuns {
  readonly #runs = new Map<string, ForgottenRun>();

  get size(): number {
    return this.#runs.size;
  }

  add({ id, position, createdAt, run }: WatchedRun): void {
    this.#runs.set(id, { position, createdAt, completedAt: run?.completed_at });
  }

  has(id: string): boolean {
    return this.#runs.has(id);
  }

  /** How far a run was reported, which is watched again from now on. */
  take(id: string): RunPosition | undefined {
    const position = this.#runs.get(id)?.position;
    this.#runs.delete(id);
    return position;
  }

  /** Whether one of these runs has not continued, as far as its row in the list shows. */
  isUnchanged({ id, status, completed_at }: RunListItem): boolean {
    const run = this.#runs.get(id);
    return run !== undefined && isFinal(status) && !isLater(completed_at, run.completedAt);
  }

  *positions(): Generator<[id: string, RunPosition], void, undefined> {
    for (const [id, { position }] of this.#runs) yield [id, position];
  }

  values(): Iterable<Pick<WatchedRun, 'createdAt'>> {
    return this.#runs.values();
  }
}

/** Whether a time is known to be later than another one; both in ISO 8601. */
export const isLater = (time: string | null | undefined, other: string | null | undefined): boolean =>
  Date.parse(time ?? '') > Date.parse(other ?? '');
