/** Why no signature matches: the usual ways in which a body is changed on its way, and a signature made wrongly, are tried. */
import { hmac, refusal, type Verdict } from './verdict.ts';

interface Mismatch {
  id: string;
  timestamp: string;
  body: Uint8Array;
  secrets: readonly Uint8Array[];
  matches: (mac: Uint8Array) => boolean;
}

/** More than this is not parsed and written anew. */
const jsonLimit = 4 * 1024 * 1024;

export function explainMismatch({ id, timestamp, body, secrets, matches }: Mismatch): Verdict {
  const head = `${id}.${timestamp}.`;
  for (const [change, variant] of bodyVariants(body)) {
    if (!secrets.some((key) => matches(hmac(key, [head, variant])))) continue;
    return refusal(
      'body_altered',
      `The body is not what was signed: ${change}.`,
      'Verify the bytes as they came over the wire, before anything parses, trims or re-encodes them.',
    );
  }
  for (const [mistake, content] of otherContents(head, id, timestamp, body)) {
    if (!secrets.some((key) => matches(hmac(key, content)))) continue;
    return refusal('wrong_signing', `The sender signed something else: ${mistake}.`, 'Standard Webhooks signs "id.timestamp.body".');
  }
  for (const key of secrets) {
    const encoded = Buffer.from(key).toString('base64');
    const asText = [`whsec_${encoded}`, encoded].find((text) => matches(hmac(text, [head, body])));
    if (asText === undefined) continue;
    return refusal(
      'wrong_signing',
      `The sender used the secret as text${asText === encoded ? ', without whsec_' : ''}; it has to be decoded from base64.`,
      'Take off whsec_ and decode the rest: those bytes are the key.',
    );
  }
  return refusal(
    'no_match',
    'No signature matches.',
    'Another secret signed it (was it rotated?), or the id, the time or the body is not what was signed.',
  );
}

const lineFeed = Uint8Array.of(0x0a);

/** How the body may have looked when it was signed, and in words what happened to it since. */
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
  if (!Buffer.from(text).equals(bytes)) yield ['it was read in another encoding than UTF-8', Buffer.from(bytes.toString('latin1'))];
  if (bytes.length <= jsonLimit) yield* jsonVariants(text);
}

function* jsonVariants(text: string): Generator<[string, Uint8Array]> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return;
  }
  const why = 'it was parsed and written again as JSON';
  for (const shown of [value, sorted(value)]) {
    const order = shown === value ? '' : ', with its keys in another order';
    for (const written of [
      JSON.stringify(shown),
      spaced(JSON.stringify(shown)),
      JSON.stringify(shown, null, 2),
      JSON.stringify(shown, null, 4),
    ]) {
      for (const form of [written, escaped(written)]) {
        yield [`${why}${order}`, Buffer.from(form)];
        yield [`${why}${order}`, Buffer.from(`${form}\n`)];
      }
    }
  }
}

/** `{"a": 1, "b": 2}`: JSON as Python writes it. */
const spaced = (json: string): string => json.replace(/"(?:[^"\\]|\\.)*"|[,:]/g, (token) => (token.length === 1 ? `${token} ` : token));

/** With characters beyond ASCII written as `\uXXXX`. */
const escaped = (json: string): string => json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, part]) => [key, sorted(part)]),
  );
}

function otherContents(head: string, id: string, timestamp: string, body: Uint8Array): [string, (string | Uint8Array)[]][] {
  return [
    ['the body alone', [body]],
    ['the time and the body, without the id', [`${timestamp}.`, body]],
    ['the id and the body, without the time', [`${id}.`, body]],
    ['the time before the id', [`${timestamp}.${id}.`, body]],
    ['nothing after the time: the body was empty', [head]],
  ];
}
