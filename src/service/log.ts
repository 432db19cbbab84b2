/** Structured log entries of the service. What receives them decides where they go; they never hold a token. */
import { hostTrouble, troubleWords } from './host-trouble.ts';

/** From the least to the most important. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogEntry {
  /** ISO 8601. */
  time: string;
  level: LogLevel;
  message: string;
  /** Facts such as ids, statuses and milliseconds. */
  fields: Record<string, string | number | boolean | null>;
}

export type Log = (level: LogLevel, message: string, fields?: LogEntry['fields']) => void;

/** A log that stamps entries and hands on those of some importance; without a receiver it does nothing. */
export function createLog(now: () => number, receive: ((entry: LogEntry) => void) | undefined, least: LogLevel = 'debug'): Log {
  if (receive === undefined) return () => undefined;
  const repetitions = new Repetitions(now);
  return (level, message, fields = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(least)) return;
    const repeated = fields.trouble === undefined ? 0 : repetitions.count(`${message} ${fields.trouble}`);
    if (repeated === undefined) return;
    try {
      receive({ time: new Date(now()).toISOString(), level, message, fields: repeated === 0 ? fields : { ...fields, repeated } });
    } catch {
      // A log that cannot be written must not take the service down with it.
    }
  };
}

/** Milliseconds for which the same trouble of the host is logged once. */
const once = 60_000;

/** What is logged over and over while the host is in trouble, which has to do without space, too. */
class Repetitions {
  readonly #now: () => number;
  readonly #logged = new Map<string, { at: number; left: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Undefined when it was logged a moment ago; otherwise how often it was not logged since then. */
  count(what: string): number | undefined {
    const at = this.#now();
    const last = this.#logged.get(what);
    if (last !== undefined && at >= last.at && at - last.at < once) {
      last.left += 1;
      return undefined;
    }
    this.#logged.set(what, { at, left: 0 });
    return last?.left ?? 0;
  }
}

/** What to log of an unknown failure. */
export function errorFields(error: unknown): Record<string, string> {
  const trouble = hostTrouble(error);
  // Where it was met says nothing about it, and stacks would fill the rest of a disk.
  if (trouble !== undefined) return { error: (error as Error).message, trouble, advice: troubleWords[trouble].advice };
  return error instanceof Error ? { error: error.message, stack: error.stack ?? '' } : { error: String(error) };
}
