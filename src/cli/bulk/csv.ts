/** Reads CSV: RFC 4180, plus semicolons or tabs as delimiters, LF line endings, a byte order mark and blank lines. Pure. */
import { CsvError, parse } from 'csv-parse/sync';
import { UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';

interface CsvRow {
  /** The number of its first line. */
  line: number;
  cells: string[];
}

export interface CsvTable {
  header: string[];
  rows: CsvRow[];
}

/** @throws UsageError naming file and line */
export function parseCsv(text: string, file: string): CsvTable {
  const [header, ...rows] = rowsOf(text, file);
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
  return { header: names, rows };
}

/** The rows with their first lines, which csv-parse itself counts wrongly after a CR LF inside quotes. */
function rowsOf(text: string, file: string): CsvRow[] {
  const content = text.replace(/^\uFEFF/, '');
  const delimiter = delimiterOf(content);
  // Where no cell begins with a quote, quotes are text: 27" display.
  const hasQuotedCells = new RegExp(`(?:^|[\\n${delimiter}])"`).test(content);
  const rows: CsvRow[] = [];
  let line = 1;
  const addRow = (cells: string[]): null => {
    const isBlank = cells.length === 1 && cells[0]?.trim() === '';
    if (!isBlank) rows.push({ line, cells });
    line += 1;
    for (const cell of cells) line += cell.split('\n').length - 1;
    return null;
  };
  try {
    parse(content, {
      delimiter,
      record_delimiter: ['\r\n', '\n'],
      quote: hasQuotedCells ? '"' : null,
      escape: hasQuotedCells ? '"' : null,
      relax_column_count: true,
      on_record: addRow,
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw problemOf(error, `${file}:${line}`);
  }
  return rows;
}

function problemOf({ code, message }: CsvError, place: string): UsageError {
  switch (code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return new UsageError(`${place}: a quote is not closed.`);
    case 'CSV_INVALID_CLOSING_QUOTE':
      return new UsageError(`${place}: there is text after a closing quote.`);
    case 'INVALID_OPENING_QUOTE':
      return new UsageError(
        `${place}: a quote is in the middle of a cell that does not begin with one.`,
        'Put the whole cell in quotes, and write each quote inside it twice: "27"" display".',
      );
    default:
      return new UsageError(`${place}: ${message}`);
  }
}

/** The most frequent delimiter of the first line, outside quotes. */
function delimiterOf(text: string): string {
  const line = /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text)?.[0].replace(/"(?:[^"]|"")*"/g, '') ?? '';
  const count = (character: string): number => line.split(character).length;
  return [';', '\t'].reduce((best, character) => (count(character) > count(best) ? character : best), ',');
}
