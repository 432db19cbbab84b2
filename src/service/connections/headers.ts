/** The headers that are sent to a server: which are allowed, and how changes are applied. Secret values are accepted but never returned. */
import { ServiceError } from '../errors.ts';

export type HeaderSet = Record<string, string>;

/** The headers of a request. A missing part is not changed. */
export interface HeaderInput {
  plaintext?: HeaderSet | undefined;
  secret?: HeaderSet | undefined;
}

export interface StoredHeaders {
  plain: HeaderSet;
  secret: HeaderSet;
}

const maxHeaders = 50;
const maxValueLength = 8_192;
/** RFC 9110, 5.6.2. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
/** RFC 9110, 5.5, without the obsolete parts. */
const fieldValue = /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/;
/** Headers that the protocol and the connection set. */
const reservedNames =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|accept|accept-encoding|mcp-.*|last-event-id|proxy-.*)$/i;

/**
 * The headers after a change. Each specified part replaces the existing one; an empty secret value keeps the stored value.
 * Null removes all headers. Throws 400 `invalid_request`.
 */
export function changedHeaders(before: StoredHeaders, input: HeaderInput | null | undefined): StoredHeaders {
  if (input === undefined) return before;
  if (input === null) return { plain: {}, secret: {} };
  const plain = input.plaintext === undefined ? before.plain : checkHeaders(input.plaintext, 'plaintext');
  const secret = input.secret === undefined ? before.secret : checkHeaders(withStoredValues(input.secret, before.secret), 'secret');
  const names = [...Object.keys(plain), ...Object.keys(secret)].map((name) => name.toLowerCase());
  const duplicate = names.find((name, index) => names.indexOf(name) < index);
  if (duplicate !== undefined) throw invalidHeader(`headers.${duplicate}`, 'appears twice');
  if (names.length > maxHeaders) throw invalidHeader('headers', `has more than ${maxHeaders} headers`);
  return { plain, secret };
}

/** Checks headers for a probe, which has no stored secrets. Throws 400 `invalid_request`. */
export const checkedHeaders = (input: HeaderSet): HeaderSet => changedHeaders({ plain: {}, secret: {} }, { plaintext: input }).plain;

function withStoredValues(input: HeaderSet, before: HeaderSet): HeaderSet {
  const storedValues = new Map(Object.entries(before).map(([name, value]) => [name.toLowerCase(), value]));
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      if (value !== '') return [name, value];
      const old = storedValues.get(name.toLowerCase());
      if (old === undefined) throw invalidHeader(`headers.secret.${name}`, 'is empty, and there is no stored value');
      return [name, old];
    }),
  );
}

function checkHeaders(headers: HeaderSet, part: 'plaintext' | 'secret'): HeaderSet {
  for (const [name, value] of Object.entries(headers)) {
    const path = `headers.${part}.${name}`;
    if (!token.test(name)) throw invalidHeader(`headers.${part}`, `has an invalid header name: ${JSON.stringify(name.slice(0, 100))}`);
    if (reservedNames.test(name)) throw invalidHeader(path, 'is set by the protocol itself');
    if (value.length > maxValueLength) throw invalidHeader(path, `is longer than ${maxValueLength} characters`);
    if (!fieldValue.test(value)) throw invalidHeader(path, 'is empty or contains characters that are not allowed in headers');
  }
  return { ...headers };
}

const invalidHeader = (path: string, message: string): ServiceError =>
  new ServiceError(400, 'invalid_request', `${path} ${message}.`, { details: [{ path, message }] });
