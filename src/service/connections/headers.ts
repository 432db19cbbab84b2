/** The headers that go to a server: what may be among them, and how a change is applied. Secret values come in and never go out. */
import { ServiceError } from '../errors.ts';

export type HeaderSet = Record<string, string>;

/** What a request says of headers. A part that is absent is left as it is. */
export interface HeaderInput {
  plaintext?: HeaderSet | undefined;
  secret?: HeaderSet | undefined;
}

export interface StoredHeaders {
  plain: HeaderSet;
  secret: HeaderSet;
}

const most = 50;
const longestValue = 8_192;
/** RFC 9110, 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
/** RFC 9110, 5.5, without what is obsolete. */
const fieldValue = /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/;
/** What the protocol and the connection say themselves. */
const reserved =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept|accept-encoding|mcp-.*|last-event-id|proxy-.*)$/i;

/**
 * The headers after a change. Each part that is given replaces that part; an empty secret value keeps the one that is stored.
 * Null removes them all. Throws 400 `invalid_request`.
 */
export function changedHeaders(before: StoredHeaders, given: HeaderInput | null | undefined): StoredHeaders {
  if (given === undefined) return before;
  if (given === null) return { plain: {}, secret: {} };
  const plain = given.plaintext === undefined ? before.plain : checked(given.plaintext, 'plaintext');
  const secret = given.secret === undefined ? before.secret : checked(kept(given.secret, before.secret), 'secret');
  const names = [...Object.keys(plain), ...Object.keys(secret)].map((name) => name.toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw refused(`headers.${twice}`, 'appears twice');
  if (names.length > most) throw refused('headers', `has more than ${most} headers`);
  return { plain, secret };
}

/** A set without secrets of its own, as a probe has it. Throws 400. */
export const checkedHeaders = (given: HeaderSet): HeaderSet => changedHeaders({ plain: {}, secret: {} }, { plaintext: given }).plain;

function kept(given: HeaderSet, before: HeaderSet): HeaderSet {
  const stored = new Map(Object.entries(before).map(([name, value]) => [name.toLowerCase(), value]));
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (value !== '') return [name, value];
      const old = stored.get(name.toLowerCase());
      if (old === undefined) throw refused(`headers.secret.${name}`, 'is empty, and no value of it is stored');
      return [name, old];
    }),
  );
}

function checked(headers: HeaderSet, part: 'plaintext' | 'secret'): HeaderSet {
  for (const [name, value] of Object.entries(headers)) {
    const path = `headers.${part}.${name}`;
    if (!token.test(name)) throw refused(`headers.${part}`, `has a name that no header can have: ${JSON.stringify(name.slice(0, 100))}`);
    if (reserved.test(name)) throw refused(path, 'is set by the protocol itself');
    if (value.length > longestValue) throw refused(path, `is longer than ${longestValue} characters`);
    if (!fieldValue.test(value)) throw refused(path, 'is empty, or has characters that no header can have');
  }
  return { ...headers };
}

const refused = (path: string, message: string): ServiceError =>
  new ServiceError(400, 'invalid_request', `${path} ${message}.`, { details: [{ path, message }] });
