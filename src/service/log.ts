/** Structured log entries of the service. What receives them decides where they go; they never hold a token. */

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
  return (level, message, fields = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(least)) return;
    try {
      receive({ time: new Date(now()).toISOString(), level, message, fields });
    } catch {
      // A log that cannot be written must not take the service down with it.
    }
  };
}

/** What to log of an unknown failure. */
export const errorFields = (error: unknown): Record<string, string> =>
  error instanceof Error ? { error: error.message, stack: error.stack ?? '' } : { error: String(error) };
