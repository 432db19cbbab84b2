/**
 * The position of a reader in the events of a team. Whenever a human request is made or settled, this gets a number in its team, so
 * a number is all that is needed to continue. A new reader first gets the pending requests.
 */
import type { Queries } from '../store/database/database.ts';
import { lastRequestEvent } from '../store/runs/request-events.ts';
import { foreignEventId } from './run-position.ts';

export interface TeamPosition {
  /** Number of the last change that was reported. */
  event: number;
  /** While the pending requests are being reported: the number of the last one. They include everything up to `event`. */
  pendingAfter: number | null;
}

/** The position at which a new reader starts. */
export const teamStart = async (db: Queries, teamId: string): Promise<TeamPosition> => ({
  event: await lastRequestEvent(db, teamId),
  pendingAfter: 0,
});

export const teamEventId = ({ event, pendingAfter }: TeamPosition): string =>
  pendingAfter === null ? String(event) : `${event}.${pendingAfter}`;

/** The position in a `Last-Event-ID`. @throws ServiceError 400 `invalid_request` if it is not one */
export function teamPosition(id: string): TeamPosition {
  const [, event, after] = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(id) ?? [];
  if (event === undefined) throw foreignEventId();
  return { event: Number(event), pendingAfter: after === undefined ? null : Number(after) };
}
