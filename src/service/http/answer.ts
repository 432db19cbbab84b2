/** An HTTP response before it is written. */

import { Buffer } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import type { Readable } from 'node:stream';
import { ServiceError } from '../errors.ts';
import { hostTrouble, troubleWords } from '../host-trouble.ts';
import { DamagedDataError } from '../store/database/damaged-data.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text is written as UTF-8; a stream must match its Content-Length. */
  readonly body: string | Readable;
}

/**
 * What every response tells browsers unless its answer has a header of its own: it is private, so no cache may store it (RFC 9111
 * section 5.2.2.5), it is only what its type says, and it is never rendered as a page that loads, runs, or is framed by anything.
 * No response allows another origin to read it.
 */
export const privateData: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
};

const json = { 'Content-Type': 'application/json; charset=utf-8' };

export const jsonAnswer = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { ...json, ...headers },
  body: JSON.stringify(body),
});

/**
 * The answer to a failure: `{error, message, scope?, details?}` (interface part 7). Trouble of the host is a 503 with its name, and an
 * unknown error is a 500 without details.
 */
export function errorAnswer(error: unknown): Answer {
  if (error instanceof DamagedDataError) return jsonAnswer(500, { error: error.code, message: error.message });
  const problem = hostTrouble(error);
  if (problem !== undefined) return jsonAnswer(503, { error: problem, message: troubleWords[problem].message }, { 'Retry-After': '5' });
  if (!(error instanceof ServiceError)) {
    const message = isProgramGone(error)
      ? 'The program of this service was replaced while it ran, as by an update of aops. Restart the service: `aops local down`, then `aops local up`.'
      : 'The service failed to handle this request; its log contains the reason.';
    return jsonAnswer(500, { error: 'internal_error', message });
  }
  return jsonAnswer(error.status, errorBody(error), error.headers);
}

/** Whether a part of the program that is loaded on first use no longer exists. */
const isProgramGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && ['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'].includes(String(error.code));

/** The body of an error as in the interface. */
export const errorBody = ({ error, message, scope, details }: ServiceError) => ({
  error,
  message,
  ...(scope === undefined ? {} : { scope }),
  ...(details === undefined ? {} : { details }),
});

/** A complete response as text, for a socket whose request could not be read. */
export function rawResponse(status: number, answer: Answer, headers: Record<string, string>): string {
  const body = typeof answer.body === 'string' ? answer.body : '';
  const allHeaders = {
    ...privateData,
    ...headers,
    ...answer.headers,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}
