/** Reads CSV: RFC 4180, plus semicolons or tabs as delimiters, LF line endings, a byte order mark and blank lines. Pure. */
import { UsageError } from '../../../base/errors.ts';
import { pluralize } from '../../../base/pluralize.ts';

export interface CsvTable {
  header: string[];
  /** Each row with the number of its first line. */
  rows: { line: number; cells: string[] }[];
  delimiter: string;
}

/** @throws UsageError naming file and line */
export function parseCsv(text: string, file: string): CsvTable {
  const content = text.replace(/^\uFEFF/, '');
  const delimiter = delimiterOf(content);
  const [header, ...rows] = [...records(content, delimiter, file)];
  if (header === undefined) throw new UsageError(`${file} is empty; its first line must name the columns.`);
  const names = header.cells.map((name) => name.trim());
  const duplicate = names.find((name, index) => names.indexOf(name) < index);
  if (duplicate !== undefined) throw new UsageError(`${file}:${header.line}: the column "${duplicate}" appears twice.`);
  for (const { line, cells } of rows) {
    if (cells.length === names.length) continue;
    throw new UsageError(
      `${file}:${line}: the row has ${pluralize(cells.length, 'cell')}, but the header has ${pluralize(names.length, 'column')}.`,
    );
  }
  return { header: names, rows, delimiter };
}

/** The most frequent delimiter of the first line, outside quotes. */
function delimiterOf(text: string): string {
  const line = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text)?.[0].replace(/"(?:[^"]|"")*"/g, '') ?? '';
  const count = (character: string): number => line.split(character).length;
  return [';', '\t'].reduce((most, character) => (count(character) > count(most) ? character : most), ',');
}

function* records(text: string, delimiter: string, file: string): Generator<{ line: number; cells: string[] }> {
  let at = 0;
  let line = 1;
  while (at < text.length) {
    const begin = line;
    const cells: string[] = [];
    for (;;) {
      const cell = text[at] === '"' ? quoted(text, at) : plain(text, at, delimiter);
      if (cell === undefined) throw new UsageError(`${file}:${begin}: a quote is not closed.`);
      cells.push(cell.value);
      line += cell.value.split('\n').length - 1;
      at = cell.end;
      if (text[at] !== delimiter) break;
      at += 1;
    }
    if (text[at] === '\r') at += 1;
    if (at < text.length && text[at] !== '\n') throw new UsageError(`${file}:${line}: there is text after a closing quote.`);
    at += 1;
    line += 1;
    if (cells.length > 1 || cells[0]?.trim() !== '') yield { line: begin, cells };
  }
}

function plain(text: string, at: number, delimiter: string): { value: string; end: number } {
  let end = at;
  while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && !(text[end] === '\r' && text[end + 1] === '\n')) end += 1;
  return { value: text.slice(at, end), end };
}

function quoted(text: string, at: number): { value: string; end: number } | undefined {
  for (let end = at + 1; ; end += 2) {
    end = text.indexOf('"', end);
    if (end < 0) return undefined;
    if (text[end + 1] !== '"') return { value: text.slice(at + 1, end).replaceAll('""', '"'), end: end + 1 };
  }
}
