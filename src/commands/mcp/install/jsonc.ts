/** Changes a value in JSON with comments, and leaves the rest of the text unchanged. Pure. */
import { applyEdits, modify, type ParseError, parse } from 'jsonc-parser';
import { isObject, type JsonObject, jsonValue } from '../../../base/values.ts';

/** The object in a text, which may contain comments and trailing commas; an empty text is an empty object. Undefined if it is invalid. */
export function parseJsonc(text: string): JsonObject | undefined {
  if (text.trim() === '') return {};
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  return errors.length === 0 && isObject(value) ? value : undefined;
}

/** The text with a value at a path; `undefined` removes it. Of an object that exists, only members that differ are changed. */
export function withJsonValue(text: string, path: readonly string[], value: JsonObject | undefined): string {
  if (value !== undefined && /^(?:\{\s*\})?$/.test(text.trim())) return newDocument(path, value);
  const source = text.trim() === '' ? '{}\n' : text;
  const existing = path.reduce<unknown>((place, member) => (isObject(place) ? place[member] : undefined), parseJsonc(source));
  if (value === undefined || !isObject(existing)) return withValue(source, path, value);
  const names = new Set([...Object.keys(existing), ...Object.keys(value)]);
  return [...names]
    .filter((name) => JSON.stringify(existing[name]) !== JSON.stringify(value[name]))
    .reduce((changed, name) => withValue(changed, [...path, name], value[name]), source);
}

const newDocument = (path: readonly string[], value: JsonObject): string =>
  `${JSON.stringify(
    path.reduceRight((inner: JsonObject, member) => ({ [member]: inner }), value),
    null,
    2,
  )}\n`;

/** One change. What is inserted is laid out like the text around it; the library would also lay out the lines next to it. */
function withValue(text: string, path: readonly string[], value: unknown): string {
  const edits = modify(text, [...path], value, {});
  if (value === undefined) return withoutGap(applyEdits(text, edits), edits[0]?.offset ?? 0);
  if (!text.trim().includes('\n')) return applyEdits(text, edits);
  return applyEdits(
    text,
    edits.map((edit) => ({ ...edit, content: formatLike(edit.content, text, path, edit.length > 0) })),
  );
}

/** The text with an object that has become empty written as `{}`. */
function withoutGap(text: string, offset: number): string {
  const [before, after] = [text.slice(0, offset).trimEnd(), text.slice(offset).trimStart()];
  return before.endsWith('{') && after.startsWith('}') ? before + after : text;
}

/** @param isValue whether the content is a value; otherwise, it is a new member of an object, perhaps with a comma before it */
function formatLike(content: string, text: string, path: readonly string[], isValue: boolean): string {
  const unit = /^[ \t]+(?=["}/])/m.exec(text)?.[0] ?? '  ';
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const indented = (json: string, depth: number): string => json.replaceAll('\n', eol + unit.repeat(depth));
  const value = jsonValue(content);
  if (isValue) return indented(JSON.stringify(value, null, unit), path.length);
  const comma = content.startsWith(',') ? ',' : '';
  const members = jsonValue(`{${content.replace(/^,/, '').replace(/,$/, '')}}`);
  // The deepest object that exists contains as many members of the path as are not part of the content.
  const depth = path.length - pathDepth(members, path);
  const lines = indented(JSON.stringify(members, null, unit), depth);
  // Without the braces. The closing one of an object that was empty goes to a line of its own.
  const inner = lines.slice(1, lines.lastIndexOf(eol));
  return comma === '' ? `${inner}${eol}${unit.repeat(depth)}` : `${comma}${inner}`;
}

/** How many of the last members of a path an object contains, from its first one. */
function pathDepth(members: unknown, path: readonly string[]): number {
  const [first = ''] = isObject(members) ? Object.keys(members) : [];
  return path.length - path.indexOf(first);
}
