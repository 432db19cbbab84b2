/** The log of a service on its way to stderr: as lines for people or as JSON, and all lines of a moment with one write. */

import { isObject, jsonValue } from '../../base/values.ts';
import { choice } from '../../cli/kit/flags.ts';
import type { LogEntry } from '../../service/service.ts';
import type { Terminal } from '../../terminal/streams.ts';

export const logOptions = {
  logFormat: choice(['text', 'json'], 'How the log is written (default text on a terminal, json elsewhere)'),
  logLevel: choice(
    ['debug', 'info', 'warn', 'error'],
    'Log what is as important as this (default info, which has a line for each request but those that watch)',
  ),
} as const;

export interface ServiceLog {
  write(entry: LogEntry): void;
  /** Writes what is still held back. */
  flush(): void;
}

/** @param bound keeps the file that stderr goes to within its size */
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
      // Requests come in crowds, and a write for each would take as long as answering it.
      if (lines.length === 1) setImmediate(flush);
    },
  };
}

const jsonLine = ({ time, level, message, fields }: LogEntry): string => JSON.stringify({ time, level, message, ...fields });

/** Time, importance, what happened, and the facts: `09:30:00 info  request method=GET status=200`. */
function textLine({ time, level, message, fields }: LogEntry, moment = time.slice(11, 23)): string {
  const facts = Object.entries(fields).filter(([, value]) => value !== null);
  return [moment, level.padEnd(5), message, ...facts.map(([name, value]) => `${name}=${shown(value)}`)].join(' ');
}

/** A line of a log file for people, with its date. What is no entry stays as it is. */
export function readableLine(line: string): string {
  try {
    const { time, level, message, ...fields } = JSON.parse(line) as LogEntry & LogEntry['fields'];
    if (typeof time !== 'string' || typeof level !== 'string' || typeof message !== 'string') return line;
    return textLine({ time, level, message, fields: fields as LogEntry['fields'] }, time.slice(0, 19).replace('T', ' '));
  } catch {
    return line;
  }
}

/** A line of a log file for programs that asked for JSON. What is no entry, such as what Node wrote when it ended, is the message of one. */
export function parsableLine(line: string): string {
  return isObject(jsonValue(line)) ? line : JSON.stringify({ message: line });
}

function shown(value: string | number | boolean | null): string {
  const text = String(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}
