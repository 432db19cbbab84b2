/**
 * Lets SQLite pack rows into one value, and unpacks them. libsql aborts the whole process when it returns a text that is not valid
 * UTF-8, which a damaged disk can cause anywhere. Texts are therefore never returned directly: the values of all rows are joined into
 * one blob, separated by NUL characters, and checked before they are decoded. Stored texts never contain NUL characters (see
 * `bindable`). For the rows of a list this is as fast as letting libsql create each value.
 */
import { type Buffer, isAscii, isUtf8 } from 'node:buffer';
import { DamagedDataError } from '../damaged-data.ts';

/** A column of a result, as libsql describes it. */
export interface ResultColumn {
  readonly name: string;
  readonly table: string | null;
  /** The declared type; null for an expression. */
  readonly type: string | null;
}

/** How SQLite packs the rows of a query, and how they are unpacked. */
export interface Packing {
  /** All rows of the query in one row. */
  readonly allRows: string;
  /** A row for each row of the query. */
  readonly eachRow: string;
  unpack(bytes: Buffer | null): never[];
}

/** @param sql a query that only reads; for a change only `unpack` can be used */
export function packing(sql: string, columns: readonly ResultColumn[]): Packing {
  const names = columns.map((_, index) => `c${index}`);
  const source = `with packed(${names.join(', ')}) as (${sql})`;
  const row = packedRow(columns, names);
  return {
    allRows: `${source} select cast(group_concat(${row}, char(0)) as blob) from packed`,
    eachRow: `${source} select cast(${row} as blob) from packed`,
    unpack: unpacker(columns),
  };
}

/** A change that returns rows, each of which is packed. */
export function packedChange(sql: string, columns: readonly ResultColumn[]): string {
  const word = ' returning ';
  const position = sql.lastIndexOf(word) + word.length;
  return `${sql.slice(0, position)}cast(${packedRow(columns, returnedValues(sql.slice(position), columns))} as blob)`;
}

/** The expression of each column of a `returning`, without its alias. */
function returnedValues(list: string, columns: readonly ResultColumn[]): string[] {
  if (list === '*') return columns.map(({ name }) => `"${name}"`);
  const values = topLevel(list).map((value) => value.replace(/ as "[^"]*"$/, ''));
  // Packing repeats the expression of a value, but a parameter can appear only once.
  if (values.length !== columns.length || values.some((value) => value.includes('?')))
    throw new Error(`What this change returns cannot be packed: ${list}`);
  return values;
}

/** Splits a list in SQL at its commas, except those within parentheses and quotes. */
function topLevel(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let quote = '';
  let begin = 0;
  for (let index = 0; index < list.length; index += 1) {
    const character = list[index] as string;
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (character === ',' && depth === 0) {
      parts.push(list.slice(begin, index).trim());
      begin = index + 1;
    }
  }
  return [...parts, list.slice(begin).trim()];
}

/** How many columns' nulls fit into one number for JavaScript's bitwise operators. */
const columnsPerMask = 30;
/** SQLite functions accept at most 127 arguments. */
const maxArguments = 100;

/** The affinity of a column (https://www.sqlite.org/datatype3.html#determination_of_column_affinity), as far as it matters here. */
const isNumber = ({ type }: ResultColumn): boolean => /int/i.test(type ?? '');
const isText = (column: ResultColumn): boolean => !isNumber(column) && /char|clob|text/i.test(column.type ?? '');
const isDeclared = (column: ResultColumn): boolean => isNumber(column) || isText(column);

/** One text for each row: numbers that encode which columns are null, and then the values. */
function packedRow(columns: readonly ResultColumn[], names: readonly string[]): string {
  const masks: string[] = [];
  for (let first = 0; first < columns.length; first += columnsPerMask)
    masks.push(
      names
        .slice(first, first + columnsPerMask)
        .map((name, bit) => `(${name} is null) * ${2 ** bit}`)
        .join(' + '),
    );
  const values = columns.map((column, index) => {
    const name = names[index] as string;
    // The type of an expression is known only for each value. Fractions are written so that they can be read back exactly.
    return isDeclared(column)
      ? name
      : `case typeof(${name}) when 'real' then printf('r%!.17g', ${name}) else substr(typeof(${name}), 1, 1) || ${name} end`;
  });
  return concatExpression([...masks, ...values].flatMap((value, index) => (index === 0 ? [value] : ['char(0)', value])));
}

/** SQLite's concat omits nulls, but not the separators between them. */
function concatExpression(values: readonly string[]): string {
  if (values.length <= maxArguments) return `concat(${values.join(', ')})`;
  const parts: string[] = [];
  for (let start = 0; start < values.length; start += maxArguments) parts.push(concatExpression(values.slice(start, start + maxArguments)));
  return concatExpression(parts);
}

/** A function that is generated for these columns fills an object several times faster than a loop over their names. */
function unpacker(columns: readonly ResultColumn[]): (bytes: Buffer | null) => never[] {
  const maskCount = Math.ceil(columns.length / columnsPerMask);
  const width = maskCount + columns.length;
  const fields = columns.map((column, index) => {
    const part = `parts[start + ${maskCount + index}]`;
    const value = isText(column) ? part : isNumber(column) ? `number(${part})` : `tagged(${part})`;
    return `${JSON.stringify(column.name)}: (parts[start${index < columnsPerMask ? '' : ` + ${Math.floor(index / columnsPerMask)}`}] & ${2 ** (index % columnsPerMask)}) ? null : ${value}`;
  });
  const row = new Function('number', 'tagged', `return (parts, start) => ({ ${fields.join(', ')} });`)(number, parseTagged) as (
    parts: readonly string[],
    start: number,
  ) => never;
  return (bytes) => {
    if (bytes === null) return [];
    const text = isAscii(bytes) ? bytes.toString('latin1') : isUtf8(bytes) ? bytes.toString() : undefined;
    if (text === undefined) throw damagedRow(bytes, columns, width);
    const parts = text.split('\0');
    if (parts.length % width !== 0) throw new DamagedDataError(`a text in ${tablesOf(columns)} contains a NUL character`);
    const rows: never[] = [];
    for (let start = 0; start < parts.length; start += width) rows.push(row(parts, start));
    return rows;
  };
}

function number(part: string): number {
  const value = Number(part);
  if (Number.isNaN(value)) throw new DamagedDataError('a number is stored as another type');
  return value;
}

/** The value of an expression, prefixed with the first letter of its type. */
const parseTagged = (part: string): unknown => (part.startsWith('t') || part.startsWith('b') ? part.slice(1) : Number(part.slice(1)));

/** Names the column and the row, as far as the rest of the row allows. */
function damagedRow(bytes: Buffer, columns: readonly ResultColumn[], width: number): DamagedDataError {
  const maskCount = width - columns.length;
  const parts: Buffer[] = [];
  for (let start = 0, end = 0; start <= bytes.length; start = end + 1) {
    end = bytes.indexOf(0, start);
    if (end < 0) end = bytes.length;
    parts.push(bytes.subarray(start, end));
  }
  const invalidIndex = parts.findIndex((part) => !isUtf8(part));
  const first = invalidIndex - (invalidIndex % width);
  const column = columns[(invalidIndex % width) - maskCount];
  const rowKeys = ['run_id', 'id', 'seq'].flatMap((name) => {
    const index = columns.findIndex((candidate) => candidate.name === name);
    const value = index < 0 ? undefined : parts[first + maskCount + index];
    return value === undefined || value.length === 0 || !isUtf8(value) ? [] : [`${name} ${value.toString()}`];
  });
  const location = rowKeys.length === 0 ? '' : ` (${rowKeys.join(', ')})`;
  return new DamagedDataError(`"${column?.name}" of a row of ${column?.table ?? tablesOf(columns)}${location} is not valid text`);
}

const tablesOf = (columns: readonly ResultColumn[]): string =>
  [...new Set(columns.flatMap(({ table }) => table ?? []))].join(', ') || 'the database';
