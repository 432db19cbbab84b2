/** Lines about a request: its run, how long it has been waiting, and its position among the requests. Pure. */
import type { PendingRequest } from '../../cli/following/pending-requests.ts';
import { waitingTime } from '../../cli/following/waiting-time.ts';
import { runTitle } from '../../cli/names/run-names.ts';
import { sanitizeLine } from '../../terminal/sanitize.ts';

/** `position` of `total`, from 1. */
export interface Place {
  position: number;
  total: number;
}

/** `#17  payer: March  waiting for 3h  2 of 5`; the position of a single request is left out, and so is the profile if there is only one. */
export function heading(request: PendingRequest, { position, total }: Place, now: number): string {
  const { run_id: id, run_number, agent_name, run_title, created_at, profile } = request;
  const parts = [
    ...(profile ? [`Profile ${profile}`] : []),
    ...(run_number ? [runTitle({ id, run_number })] : []),
    `${agent_name}: ${run_title}`,
    waitingTime({ created_at }, now),
    ...(total > 1 ? [`${position} of ${total}`] : []),
  ];
  return sanitizeLine(parts.join('  '));
}

/** The line for a reminder of a request. */
export const reminderLine = ({ run_id: id, run_number, agent_name, title, created_at, profile }: PendingRequest, now: number): string =>
  sanitizeLine(
    `${profile ? `Profile ${profile}: ` : ''}Reminder: ${agent_name} ${runTitle({ id, run_number })} has been ${waitingTime({ created_at }, now)}: ${title}`,
  );
