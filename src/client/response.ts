/** Reading an answer: whether it is what it says it is. */
import { isUtf8 } from 'node:buffer';
import { header, type ResponseHeaders } from './limits/rate-limit.ts';
import type { Reading, TransportResponse } from './transport.ts';

/** Whether the answer is one that was stored for an earlier attempt with the same key (interface part 7). */
export const isReplayed = (response: TransportResponse): boolean => header(response.headers, 'idempotency-replayed') === 'true';

/** The JSON of a success answer. Bodies are looked at more than once, and parsed once. */
export function readJson(response: TransportResponse): Reading {
  response.reading ??= readBody(response);
  return response.reading;
}

/** Whether a success answer went where its body was wanted. */
export const readMedia = ({ headers, taken }: TransportResponse, wanted: string): Reading =>
  taken ? { value: undefined } : { problem: `the answer was ${typeIn(headers)}, not ${wanted}`, final: true };

/** Whether a success answer has the body it should have: none, or complete JSON. */
export const hasUsableBody = (response: TransportResponse): boolean => readJson(response).problem === undefined;

function readBody({ status, headers, body, streamed }: TransportResponse): Reading {
  if (streamed) return body.length === 0 ? { problem: 'the stream of events ended without the answer' } : readText(body);
  // Empty on purpose. Without a length it may as well have been cut off.
  if (status === 204 || (body.length === 0 && header(headers, 'content-length') === '0')) return { value: undefined };
  const type = (header(headers, 'content-type') ?? '').split(';')[0]?.trim() ?? '';
  if (!/^application\/([\w.-]+\+)?json$/i.test(type))
    return { problem: `the answer was ${typeIn(headers)}, not JSON`, final: true, foreign: true };
  const encoding = header(headers, 'content-encoding')?.trim() ?? '';
  if (encoding !== '' && encoding.toLowerCase() !== 'identity') return { problem: `the answer was encoded as ${shown(encoding)}, unasked` };
  return readText(body);
}

function readText(body: Buffer): Reading {
  if (!isUtf8(body)) return { problem: 'the answer was not UTF-8' };
  try {
    return { value: JSON.parse(body.toString('utf8')) };
  } catch {
    return { problem: 'the answer was no complete JSON' };
  }
}

/** The media type of an answer within a sentence. */
function typeIn(headers: ResponseHeaders): string {
  const type = (header(headers, 'content-type') ?? '').split(';')[0]?.trim() ?? '';
  return type === '' ? 'of no type' : shown(type);
}

/** A header's value within a sentence. */
const shown = (text: string): string => (/^[\x21-\x7e]{1,60}$/.test(text) ? text : 'something unreadable');
