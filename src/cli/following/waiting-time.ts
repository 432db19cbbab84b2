/** How long a human request has been waiting for an answer. */
import { elapsedTime } from '../../terminal/relative-time.ts';

/** `waiting for 3h`. @param now in milliseconds since the epoch */
export const waitingTime = ({ created_at }: { created_at: string }, now: number): string =>
  `waiting for ${elapsedTime(new Date(created_at), now)}`;
