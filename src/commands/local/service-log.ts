/** Writes the log of a service to stderr, as readable lines or JSON, combining simultaneous lines into one write. */

import { isObject, jsonValue } from '../../base/values.ts';
import { choice } from '../../cli/kit/flags.ts';
import type { LogEntry } from '../../service/service.ts';
import type { Terminal } from '../../terminal/streams.ts';

export const logOptions = {
  logFormat: choice(['text', 'json'], 'Format of the log (default: text on a terminal, json otherwise)'),
  logLevel: choice(
    ['debug', 'info', 'warn', 'error'],
    'Minimum level of log entries (default: info, which includes every request except those that watch)',
  ),
} as const;

export interface ServiceLog {
  write(entry: LogEntry): void;
  /** Writes the lines that have not been written yet. */
  flush(): void;
}

/** @param bound limits the size of the file that stderr is written to */
export function serviceLog(
  terminal: Terminal,
  format: 'text' | 'json' = terminal.err.isTTY ? 'text' : 'json',
  bound: () => void = () => undefined,
): ServiceLog {
  let lines: string[] = [];
  const flush = (): void => {
    if (lines.length > 0) terminal.note(lines.join('\n'));
    lines = [];
    bound();
  };
  return {
    flush,
    write(entry) {
      lines.push(format === 'json' ? jsonLine(entry) : textLine(entry));
      // Requests arrive in bursts, and a write for each would take as long as the request itself.
      if (lines.length === 1) setImmediate(flush);
    },
  };
}

const jsonLine = ({ time, level, message, fields }: LogEntry): string => JSON.stringify({ time, level, message, ...fields });

/** Time, level, message and fields: `09:30:00 info  request method=GET status=200`. */
function textLine({ time, level, message, fields }: LogEntry, moment = time.slice(11, 23)): string {
  const facts = Object.entries(fields).filter(([, value]) => value !== null);
  return [moment, level.padEnd(5), message, ...facts.map(([name, value]) => `${name}=${fieldText(value)}`)].join(' ');
}

/** A line of a log file for people, with its date. Lines that are not entries are unchanged. */
export function readableLine(line: string): string {
  try {
    const { time, level, message, ...fields } = JSON.parse(line) as LogEntry & LogEntry['fields'];
    if (typeof time !== 'string' || typeof level !== 'string' || typeof message !== 'string') return line;
    return textLine({ time, level, message, fields: fields as LogEntry['fields'] }, time.slice(0, 19).replace('T', ' '));
  } catch {
    return line;
  }
}

/** A line of a log file as JSON. A line that is not an entry, such as a crash report of Node, becomes the message of one. */
export function parsableLine(line: string): string {
  return isObject(jsonValue(line)) ? line : JSON.stringify({ message: line });
}

function fieldText(value: string | number | boolean | null): string {
  const text = String(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}
