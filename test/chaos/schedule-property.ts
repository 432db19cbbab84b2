/** Schedules of every minute: each minute starts one run, and minutes that the clock skipped start one together. */
import type { Observation, Skipped } from './observation.ts';

const minute = 60_000;
/**
 * Milliseconds by which a time may be late. Several nodes in a row can lose a job, each until the end of its lease, and nodes notice
 * after half a minute that the clock of the database was set. Times that pass meanwhile fire together.
 */
const tolerance = 150_000;

/** The minute after a moment. */
const nextMinute = (time: number): number => (Math.floor(time / minute) + 1) * minute;

/** The times between two moments that the clock really showed, in milliseconds. */
function shownTime(from: number, to: number, skipped: readonly Skipped[]): number {
  const hidden = skipped.reduce((sum, gap) => sum + Math.max(0, Math.min(to, gap.to) - Math.max(from, gap.from)), 0);
  return to - from - hidden;
}

/** @returns what is wrong, for each schedule */
export function scheduleViolations({ schedules, runs, readAt, skipped }: Observation): string[] {
  return schedules.flatMap(({ task, createdAt: existsSince, nextAt }) => {
    // In the order in which they were started: the clock can have been set back.
    const fired = runs
      .filter(({ source, messages }) => source === 'schedule' && messages.some(({ isFromAgent, text }) => !isFromAgent && text === task))
      .sort((a, b) => a.number - b.number)
      .map(({ createdAt }) => createdAt);
    const violations: string[] = [];
    let due = nextMinute(existsSince);
    for (const time of fired) {
      if (time < due) violations.push(`${task} started a run at ${timeOf(time)}, although the next one was due at ${timeOf(due)}`);
      if (shownTime(due, time, skipped) > tolerance) violations.push(`${task} started the run of ${timeOf(due)} only at ${timeOf(time)}`);
      due = nextMinute(Math.max(due, time));
    }
    if (shownTime(due, readAt, skipped) > tolerance) violations.push(`${task} did not start the run of ${timeOf(due)}`);
    if (nextAt === null) violations.push(`${task} has no next time`);
    return violations;
  });
}

const timeOf = (time: number): string => new Date(time).toISOString();
