/** Reads the body of a response, and checks that it is what it claims to be. */
import { isUtf8 } from 'node:buffer';
import { header, type ResponseHeaders } from './limits/rate-limit.ts';
import type { Reading, TransportResponse } from './transport.ts';

/** Whether the response was stored for an earlier attempt with the same key (interface part 7). */
export const isReplayed = (response: TransportResponse): boolean => header(response.headers, 'idempotency-replayed') === 'true';

/** The JSON of a success response. A body may be needed more than once, but is parsed only once. */
export function readJson(response: TransportResponse): Reading {
  response.reading ??= readBody(response);
  return response.reading;
}

/** Whether the body of a success response went to its media sink. */
export const readMedia = ({ headers, wasStreamed }: TransportResponse, expectedType: string): Reading =>
  wasStreamed ? { value: undefined } : { problem: `the answer was ${typeIn(headers)}, not ${expectedType}`, final: true };

/** Whether a success response has a valid body: none, or complete JSON. */
export const hasUsableBody = (response: TransportResponse): boolean => readJson(response).problem === undefined;

function readBody({ status, headers, body, streamed }: TransportResponse): Reading {
  if (streamed) return body.length === 0 ? { problem: 'the event stream ended without the answer' } : readText(body);
  // Intentionally empty. Without a length, the body might have been cut off.
  if (status === 204 || header(headers, 'content-length') === '0') return { value: undefined };
  const type = mediaType(headers);
  if (!/^application\/([\w.-]+\+)?json$/i.test(type))
    return { problem: `the answer was ${typeIn(headers)}, not JSON`, final: true, foreign: true };
  const encoding = header(headers, 'content-encoding')?.trim() ?? '';
  if (encoding !== '' && encoding.toLowerCase() !== 'identity')
    return { problem: `the answer was encoded as ${printable(encoding)}, which was not requested` };
  return readText(body);
}

function readText(body: Buffer): Reading {
  if (!isUtf8(body)) return { problem: 'the answer was not UTF-8' };
  try {
    return { value: JSON.parse(body.toString('utf8')) };
  } catch {
    return { problem: 'the answer was not complete JSON' };
  }
}

/** Without its parameters. */
const mediaType = (headers: ResponseHeaders): string => (header(headers, 'content-type') ?? '').replace(/;.*/s, '').trim();

/** The media type of a response, as part of a sentence. */
function typeIn(headers: ResponseHeaders): string {
  const type = mediaType(headers);
  return type === '' ? 'of an unknown type' : printable(type);
}

/** The value of a header, as part of a sentence. */
const printable = (text: string): string => (/^[\x21-\x7e]{1,60}$/.test(text) ? text : 'something unreadable');
