/** Turns rows into cases: maps columns to fields. Pure. */
import { UsageError } from '../../../base/errors.ts';
import type { FailedRow, Row, Rows } from '../../../cli/bulk/rows.ts';
import { readLabel } from '../../../cli/names/label.ts';
import { casePriorities } from '../../../interface/case-status.ts';
import type { CasePriority, NewCase } from '../../../interface/types.ts';

/** The fields that a column can fill; `label:KEY` makes its value a label with this key. */
const fields = ['title', 'data', 'priority', 'labels', 'ignore'] as const;
export const mapForm = 'COLUMN=title, data, priority, labels, label:KEY or ignore';

type Target = (typeof fields)[number] | `label:${string}`;
type Labels = NonNullable<NewCase['labels']>;

export interface DraftOptions {
  /** `COLUMN=FIELD` */
  map: readonly string[];
  /** Added to every case, in addition to the labels of its row. */
  labels: Labels;
  priority: CasePriority | undefined;
}

export interface Draft {
  row: number;
  draft: NewCase;
}

/** The cases of the rows, and the rows that cannot be turned into cases. @throws UsageError if the mapping does not fit the file */
export function makeDrafts(file: Rows, draftOptions: DraftOptions, name: string): { drafts: Draft[]; failedRows: FailedRow[] } {
  const targets = targetsOf(file.columns, draftOptions.map, name);
  const drafts: Draft[] = [];
  const failedRows: FailedRow[] = [];
  for (const row of file.rows) {
    const result = draftOf(row, targets, draftOptions, file.format === 'csv');
    if (typeof result === 'string') failedRows.push({ row: row.number, reason: result });
    else drafts.push({ row: row.number, draft: result });
  }
  return { drafts, failedRows };
}

function targetsOf(columns: readonly string[], map: readonly string[], name: string): Map<string, Target | undefined> {
  const targets = new Map<string, Target | undefined>(columns.map((column) => [column, ownTarget(column)]));
  for (const entry of map) {
    const separator = entry.lastIndexOf('=');
    const [column, field] = [entry.slice(0, separator), entry.slice(separator + 1)];
    if (separator < 1 || !isTarget(field)) throw new UsageError(`"${entry}" is not a valid --map; write ${mapForm}.`);
    if (!targets.has(column)) throw new UsageError(`${name} has no column "${column}".`, `Its columns are: ${columns.join(', ')}`);
    // An explicit mapping replaces the column that has the name of the field.
    if (!field.startsWith('label:') && field !== 'ignore')
      for (const [other, target] of targets) if (target === field && other !== column) targets.set(other, undefined);
    targets.set(column, field);
  }
  if (![...targets.values()].includes('title'))
    throw new UsageError('No column is mapped to the title.', `Choose one with --map COLUMN=title. The columns are: ${columns.join(', ')}`);
  return targets;
}

const isTarget = (field: string): field is Target => (fields as readonly string[]).includes(field) || /^label:./.test(field);

function ownTarget(column: string): Target | undefined {
  const word = column.trim().toLowerCase();
  if (word === 'label') return 'labels';
  return word !== 'ignore' && isTarget(word) ? word : undefined;
}

/** The case of a row, or the reason why the row cannot be used. */
function draftOf(
  { values }: Row,
  targets: ReadonlyMap<string, Target | undefined>,
  draftOptions: DraftOptions,
  cells: boolean,
): NewCase | string {
  const draft: NewCase = { title: '' };
  const labels: Labels = [...draftOptions.labels];
  let priority: string | undefined = draftOptions.priority;
  // Columns can have the names of inherited properties.
  const rest: Record<string, unknown> = Object.create(null);
  for (const [column, target] of targets) {
    const value = Object.hasOwn(values, column) ? values[column] : undefined;
    if (value === undefined || value === null || target === 'ignore') continue;
    if (target === undefined) rest[column] = cells ? cellValue(String(value)) : value;
    else if (target === 'title') draft.title = textOf(value).trim();
    else if (target === 'data') draft.data = textOf(value);
    else if (target === 'priority') priority = textOf(value).trim().toLowerCase() || priority;
    else if (target === 'labels') {
      const read = labelsOf(value);
      if (typeof read === 'string') return read;
      labels.push(...read);
    } else if (textOf(value).trim() !== '') labels.push({ key: target.slice('label:'.length), value: textOf(value).trim() });
  }
  const length = [...draft.title].length;
  if (length === 0) return 'the title is empty';
  if (length > 500) return `the title has ${length} characters; at most 500 are allowed`;
  if (priority !== undefined && !(casePriorities as readonly string[]).includes(priority))
    return `the priority is "${priority}"; it must be ${casePriorities.join(', ')}`;
  // Without a column for the data, it consists of the columns that are not used otherwise.
  if (![...targets.values()].includes('data') && Object.keys(rest).length > 0) draft.data = JSON.stringify(rest);
  return {
    ...draft,
    ...(labels.length === 0 ? {} : { labels }),
    ...(priority === undefined ? {} : { priority: priority as CasePriority }),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A CSV cell as a number if the number would be written the same way, so that amounts can be compared and 007 is preserved. */
function cellValue(text: string): unknown {
  return /^-?\d/.test(text) && String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** `vendor=acme; urgent`, a list of such texts or of labels, or a mapping by key. */
function labelsOf(value: unknown): Labels | string {
  if (typeof value !== 'string' && typeof value !== 'object') return `"${textOf(value)}" is not a label; write vendor=acme or urgent`;
  const list =
    typeof value === 'string' ? value.split(/[;,]/) : Array.isArray(value) ? value : Object.entries(value as object).flatMap(byKey);
  const labels: Labels = [];
  for (const entry of list as unknown[]) {
    const label = typeof entry === 'string' ? readLabel(entry.trim()) : (entry as { key?: string; value?: unknown } | null);
    if (typeof entry === 'string' && entry.trim() === '') continue;
    if (typeof label?.value !== 'string' || label.value === '') return `"${textOf(entry)}" is not a label; write vendor=acme or urgent`;
    labels.push({ value: label.value, ...(label.key === undefined ? {} : { key: label.key }) });
  }
  return labels;
}

/** Entries that are null are ignored. */
const byKey = ([key, values]: [string, unknown]): object[] =>
  [values].flat().flatMap((value) => (value === null ? [] : [{ key, value: textOf(value) }]));
