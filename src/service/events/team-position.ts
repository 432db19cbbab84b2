/**
 * How far a reader of a team's events has come. Each asking and each settling of a human request has a number in its team, so
 * that a number is all that is needed to continue; a reader that is new is told first what is pending.
 */
import type { Queries } from '../store/database/database.ts';
import { lastRequestEvent } from '../store/runs/request-events.ts';
import { foreignEventId } from './run-position.ts';

export interface TeamPosition {
  /** Number of the last change that was told. */
  event: number;
  /** While what is pending is told: the number of the last request of it. All up to `event` are part of it. */
  pendingAfter: number | null;
}

/** Where a new reader begins. */
export const teamStart = async (db: Queries, teamId: string): Promise<TeamPosition> => ({
  event: await lastRequestEvent(db, teamId),
  pendingAfter: 0,
});

export const teamEventId = ({ event, pendingAfter }: TeamPosition): string =>
  pendingAfter === null ? String(event) : `${event}.${pendingAfter}`;

/** The position that a `Last-Event-ID` stands for. @throws ServiceError 400 `invalid_request` when it is not one of these */
export function teamPosition(id: string): TeamPosition {
  const [, event, after] = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(id) ?? [];
  if (event === undefined) throw foreignEventId();
  return { event: Number(event), pendingAfter: after === undefined ? null : Number(after) };
}
