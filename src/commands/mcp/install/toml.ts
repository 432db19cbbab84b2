/** Changes a table in TOML, and leaves the rest of the text unchanged. Pure. */
import { parse, stringify } from 'smol-toml';
import type { JsonObject } from '../../../base/values.ts';

/** The values of a text; undefined if it is invalid. */
export function parseToml(text: string): JsonObject | undefined {
  try {
    return parse(text) as JsonObject;
  } catch {
    return undefined;
  }
}

/**
 * The text with the table at a path; `undefined` removes it. The lines of an existing table are replaced in place, and a new table is
 * added at the end. Only tables with a header of their own are found, so the caller has to check the result.
 */
export function withTomlTable(text: string, path: readonly string[], value: JsonObject | undefined): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text.split(/\r?\n/);
  const isOwn = lines.map(() => false);
  let inTable = false;
  lines.forEach((line, index) => {
    const header = headerOf(line);
    if (header !== undefined) inTable = path.every((member, depth) => header[depth] === member);
    isOwn[index] = inTable;
  });
  // Comments and empty lines before the next table belong to that one.
  for (let index = lines.length - 1; index >= 0; index -= 1) {
    const endsTable = isOwn[index] === true && isOwn[index + 1] !== true;
    if (endsTable && /^\s*(#.*)?$/.test(lines[index] as string)) isOwn[index] = false;
  }
  const comments = lines.filter((line, index) => isOwn[index] && /^\s*#/.test(line));
  const table = value === undefined ? [] : [...tableLines(path, value), ...comments];
  const first = isOwn.indexOf(true);
  const rest = lines.filter((_, index) => !isOwn[index]);
  if (first >= 0) {
    rest.splice(first, 0, ...table);
    return rest.join(eol);
  }
  if (table.length === 0) return text;
  const before = text.trimEnd() === '' ? [] : [...text.trimEnd().split(/\r?\n/), ''];
  return [...before, ...table, ''].join(eol);
}

/** The lines of a table, without an empty one at the end. */
function tableLines(path: readonly string[], value: JsonObject): string[] {
  const document = path.reduceRight<JsonObject>((inner, member) => ({ [member]: inner }), value);
  const lines = stringify(document).trimEnd().split('\n');
  // The tables around it are defined by its header.
  return lines.slice(lines.findIndex((line) => headerOf(line)?.length === path.length));
}

/** The names in the header of a table or of an element of a list: `[a.b]`, `[a."b"]`, `[[a]]`. Undefined for any other line. */
function headerOf(line: string): string[] | undefined {
  const content = /^\s*\[{1,2}\s*(.+?)\s*\]{1,2}\s*(#.*)?$/.exec(line)?.[1];
  const names = content?.match(/"(?:[^"\\]|\\.)*"|'[^']*'|[^.\s"']+/g);
  return names?.map((name) => (name.startsWith('"') || name.startsWith("'") ? name.slice(1, -1) : name));
}
