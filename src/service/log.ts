/** Structured log entries of the service. The receiver decides where they are written. They never contain a token. */
import { hostTrouble, troubleWords } from './host-trouble.ts';

/** The levels, from the least to the most important. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogEntry {
  /** ISO 8601. */
  time: string;
  level: LogLevel;
  message: string;
  /** Facts such as IDs, statuses, and milliseconds. */
  fields: Record<string, string | number | boolean | null>;
}

export type Log = (level: LogLevel, message: string, fields?: LogEntry['fields']) => void;

/** A receiver that adds the name of this node to entries. */
export const ofNode =
  (name: string, receive: (entry: LogEntry) => void) =>
  (entry: LogEntry): void =>
    receive({ ...entry, fields: { node: name, ...entry.fields } });

/** A log that adds the time to entries and passes on those of at least the level `minLevel`. Without a receiver, it does nothing. */
export function createLog(now: () => number, receive: ((entry: LogEntry) => void) | undefined, minLevel: LogLevel = 'debug'): Log {
  if (receive === undefined) return () => undefined;
  const repetitions = new Repetitions(now);
  return (level, message, fields = {}) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(minLevel)) return;
    const suppressedCount = fields.trouble === undefined ? 0 : repetitions.count(`${message} ${fields.trouble}`);
    if (suppressedCount === undefined) return;
    try {
      receive({
        time: new Date(now()).toISOString(),
        level,
        message,
        fields: suppressedCount === 0 ? fields : { ...fields, repeated: suppressedCount },
      });
    } catch {
      // A log that cannot be written must not stop the service.
    }
  };
}

/** Milliseconds during which the same problem of the host is logged only once. */
const repeatInterval = 60_000;

/** Suppresses repeated entries about a problem of the host, because a full disk has no space for them. */
class Repetitions {
  readonly #now: () => number;
  readonly #entries = new Map<string, { loggedAt: number; suppressedCount: number }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Undefined if the entry was logged recently; otherwise the number of times that it was suppressed since then. */
  count(entry: string): number | undefined {
    const now = this.#now();
    const last = this.#entries.get(entry);
    if (last !== undefined && now >= last.loggedAt && now - last.loggedAt < repeatInterval) {
      last.suppressedCount += 1;
      return undefined;
    }
    this.#entries.set(entry, { loggedAt: now, suppressedCount: 0 });
    return last?.suppressedCount ?? 0;
  }
}

/** The fields to log for an unknown error. */
export function errorFields(error: unknown): Record<string, string> {
  const problem = hostTrouble(error);
  // The place where it occurred is irrelevant, and stack traces would fill the rest of the disk.
  if (problem !== undefined) return { error: (error as Error).message, trouble: problem, advice: troubleWords[problem].advice };
  return error instanceof Error ? { error: error.message, stack: error.stack ?? '' } : { error: String(error) };
}
