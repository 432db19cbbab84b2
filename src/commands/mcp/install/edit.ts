/**
 * Adds a server to the configuration of a client, or removes it, as a change of the text: whatever else the file contains, including
 * comments and its layout, stays. The result is parsed and compared with what it should be, so a text that cannot be changed safely
 * is refused instead. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import { AopsError, exitCodes } from '../../../base/errors.ts';
import { isObject, type JsonObject } from '../../../base/values.ts';
import { parseJsonc, withJsonValue } from './jsonc.ts';
import { parseToml, withTomlTable } from './toml.ts';

export interface Edit {
  /** For messages. */
  file: string;
  format: 'json' | 'toml';
  /** The members that lead to the servers. */
  servers: readonly string[];
  /** The name of the server. */
  name: string;
}

/**
 * The text with the server. Members of an existing entry that aops does not set are kept.
 * @throws AopsError `config_invalid`, `server_name_taken` if another program has this name, or `config_not_changed`
 */
export function withServer(text: string, entry: JsonObject, edit: Edit): string {
  const { document, existing } = readServer(text, edit);
  const merged = mergedEntry(existing, entry);
  if (isDeepStrictEqual(structuredClone(existing), structuredClone(merged))) return text;
  const change = edit.format === 'toml' ? withTomlTable : withJsonValue;
  return checked(change(text, [...edit.servers, edit.name], merged), withValueAt(document, [...edit.servers, edit.name], merged), edit);
}

/** The text without the server; unchanged if there is none. @throws AopsError as above */
export function withoutServer(text: string, edit: Edit): string {
  const { document, existing } = readServer(text, edit);
  if (existing === undefined) return text;
  const change = edit.format === 'toml' ? withTomlTable : withJsonValue;
  const after = change(text, [...edit.servers, edit.name], undefined);
  return checked(after, withValueAt(document, [...edit.servers, edit.name], undefined), edit);
}

/** The values of a configuration; undefined if it is invalid. */
export const parseConfig = (text: string, format: Edit['format']): JsonObject | undefined =>
  format === 'toml' ? parseToml(text) : parseJsonc(text);

/** The values of the file, and the entry of the server. */
function readServer(text: string, { file, format, servers, name }: Edit): { document: JsonObject; existing: JsonObject | undefined } {
  const document = parseConfig(text, format);
  if (document === undefined) throw invalid(file, `is not valid ${format === 'toml' ? 'TOML' : 'JSON'}`);
  let place: unknown = document;
  for (const member of servers) {
    const next: unknown = isObject(place) && Object.hasOwn(place, member) ? place[member] : {};
    if (!isObject(next)) throw invalid(file, `contains something other than an object as "${member}"`);
    place = next;
  }
  const existing = isObject(place) && Object.hasOwn(place, name) ? place[name] : undefined;
  if (existing === undefined) return { document, existing };
  if (isObject(existing) && isOurs(existing)) return { document, existing };
  throw new AopsError(`${file} contains another server with the name "${name}".`, {
    code: 'server_name_taken',
    exit: exitCodes.conflict,
    hint: 'Choose another name with --name, or remove that server yourself.',
  });
}

/** Whether an entry starts `aops mcp serve`, whatever its options. */
function isOurs({ command, args }: JsonObject): boolean {
  const words = [command, args].flat().filter((word) => typeof word === 'string');
  return words.some((word, index) => word === 'mcp' && words[index + 1] === 'serve');
}

/** Folders that are not set any more are removed; what else the user or an earlier command has added is kept. */
const ownVariable = /^AOPS_(CONFIG|DATA|CACHE)_DIR$/;

function mergedEntry(existing: JsonObject | undefined, entry: JsonObject): JsonObject {
  const merged = { ...existing, ...entry };
  for (const key of ['env', 'environment']) {
    const before = existing?.[key];
    if (!isObject(before)) continue;
    const variables = { ...Object.fromEntries(Object.entries(before).filter(([name]) => !ownVariable.test(name))) };
    const after = { ...variables, ...((entry[key] ?? {}) as JsonObject) };
    if (Object.keys(after).length > 0) merged[key] = after;
    else delete merged[key];
  }
  // Somebody may have disabled it on purpose.
  if (existing !== undefined && 'enabled' in existing) merged.enabled = existing.enabled;
  return merged;
}

/** A copy of the document with this value at a place; `undefined` removes it. */
function withValueAt(document: JsonObject, [member = '', ...rest]: readonly string[], value: unknown): JsonObject {
  if (rest.length === 0) {
    const { [member]: _, ...otherMembers } = document;
    return value === undefined ? otherMembers : { ...otherMembers, [member]: value };
  }
  const inner = Object.hasOwn(document, member) ? (document[member] as JsonObject) : {};
  return { ...document, [member]: withValueAt(inner, rest, value) };
}

function checked(after: string, expected: JsonObject, { file, format, name }: Edit): string {
  const document = parseConfig(after, format);
  if (document !== undefined && isDeepStrictEqual(withoutEmpty(document), withoutEmpty(expected))) return after;
  throw new AopsError(`${file} is written in a way that aops cannot change safely, so it was left unchanged.`, {
    code: 'config_not_changed',
    exit: exitCodes.failure,
    hint: `Change the server "${name}" yourself; \`aops mcp config\` prints its command.`,
  });
}

/** A comparable copy. An empty list of servers means the same as none. */
const withoutEmpty = (document: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(structuredClone(document)).filter(([, value]) => !isObject(value) || Object.keys(value).length > 0));

const invalid = (file: string, reason: string): AopsError =>
  new AopsError(`${file} ${reason}.`, {
    code: 'config_invalid',
    exit: exitCodes.usage,
    hint: 'Correct the file first. It was left unchanged.',
  });
