/** Explains why no signature matches, by trying the usual ways in which bodies are altered and signatures computed wrongly. */
import { hmac, refusal, type Verdict } from './verdict.ts';

interface Mismatch {
  id: string;
  timestamp: string;
  body: Uint8Array;
  secrets: readonly Uint8Array[];
  matches: (mac: Uint8Array) => boolean;
}

/** Larger bodies are not parsed and serialised again. */
const jsonLimit = 4 * 1024 * 1024;

export function explainMismatch({ id, timestamp, body, secrets, matches }: Mismatch): Verdict {
  const head = `${id}.${timestamp}.`;
  for (const [change, variant] of bodyVariants(body)) {
    if (!secrets.some((key) => matches(hmac(key, [head, variant])))) continue;
    return refusal(
      'body_altered',
      `The body is not what was signed: ${change}.`,
      'Verify the bytes exactly as they were received, before anything parses, trims, or re-encodes them.',
    );
  }
  for (const [mistake, content] of otherContents(head, id, timestamp, body)) {
    if (!secrets.some((key) => matches(hmac(key, content)))) continue;
    return refusal('wrong_signing', `The sender signed something else: ${mistake}.`, 'Standard Webhooks signs "id.timestamp.body".');
  }
  for (const key of secrets) {
    const encodedKey = Buffer.from(key).toString('base64');
    const asText = [`whsec_${encodedKey}`, encodedKey].find((text) => matches(hmac(text, [head, body])));
    if (asText === undefined) continue;
    return refusal(
      'wrong_signing',
      `The sender used the secret as text${asText === encodedKey ? ', without whsec_' : ''}, but it has to be decoded from base64.`,
      'Remove whsec_ and decode the rest: those bytes are the key.',
    );
  }
  return refusal(
    'no_match',
    'No signature matches.',
    'It was signed with another secret (was it rotated?), or the ID, the time, or the body is not what was signed.',
  );
}

const lineFeed = Uint8Array.of(0x0a);

/** Forms that the body may have had when it was signed, each with a description of what happened to it since. */
function* bodyVariants(body: Uint8Array): Generator<[string, Uint8Array]> {
  const bytes = Buffer.from(body);
  if (bytes.at(-1) === 0x0a) yield ['a line feed was added at its end', bytes.subarray(0, -1)];
  if (bytes.subarray(-2).equals(Buffer.from('\r\n'))) yield ['a line break (CR LF) was added at its end', bytes.subarray(0, -2)];
  yield ['the line feed at its end is missing', Buffer.concat([bytes, lineFeed])];
  yield ['the line break (CR LF) at its end is missing', Buffer.concat([bytes, Buffer.from('\r\n')])];
  const mark = Buffer.from([0xef, 0xbb, 0xbf]);
  if (bytes.subarray(0, 3).equals(mark)) yield ['a byte order mark was added at its beginning', bytes.subarray(3)];
  else yield ['the byte order mark at its beginning is missing', Buffer.concat([mark, bytes])];
  const text = bytes.toString('utf8');
  if (text.includes('\r\n')) yield ['line feeds became CR LF', Buffer.from(text.replaceAll('\r\n', '\n'))];
  else if (text.includes('\n')) yield ['CR LF became line feeds', Buffer.from(text.replaceAll('\n', '\r\n'))];
  if (text.trim() !== text) yield ['white space was added around it', Buffer.from(text.trim())];
  if (!Buffer.from(text).equals(bytes)) yield ['it was read in an encoding other than UTF-8', Buffer.from(bytes.toString('latin1'))];
  if (bytes.length <= jsonLimit) yield* jsonVariants(text);
}

function* jsonVariants(text: string): Generator<[string, Uint8Array]> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  const reason = 'it was parsed and serialised again as JSON';
  for (const candidate of [value, withSortedKeys(value)]) {
    const order = candidate === value ? '' : ', with its keys in another order';
    for (const json of [
      JSON.stringify(candidate),
      withSpaces(JSON.stringify(candidate)),
      JSON.stringify(candidate, null, 2),
      JSON.stringify(candidate, null, 4),
    ]) {
      for (const form of [json, withEscapes(json)]) {
        yield [`${reason}${order}`, Buffer.from(form)];
        yield [`${reason}${order}`, Buffer.from(`${form}\n`)];
      }
    }
  }
}

/** `{"a": 1, "b": 2}`: JSON in the form that Python writes. */
const withSpaces = (json: string): string => json.replace(/"(?:[^"\\]|\\.)*"|[,:]/g, (token) => (token.length === 1 ? `${token} ` : token));

/** With characters beyond ASCII written as `\uXXXX`. */
const withEscapes = (json: string): string =>
  json.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, withSortedKeys(part)]),
  );
}

function otherContents(head: string, id: string, timestamp: string, body: Uint8Array): [string, (string | Uint8Array)[]][] {
  return [
    ['only the body', [body]],
    ['the time and the body, without the ID', [`${timestamp}.`, body]],
    ['the ID and the body, without the time', [`${id}.`, body]],
    ['the time before the ID', [`${timestamp}.${id}.`, body]],
    ['nothing after the time, as if the body were empty', [head]],
  ];
}
