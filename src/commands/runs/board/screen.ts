/** The lines of the board for a state, a size, and a time. Pure: texts are sanitised, and every line fits the width. */
import { formatDuration } from '../../../base/duration.ts';
import { pluralize } from '../../../base/pluralize.ts';
import { elapsedTime } from '../../../terminal/relative-time.ts';
import { sanitizeLine } from '../../../terminal/sanitize.ts';
import type { Styles } from '../../../terminal/style.ts';
import { pad, truncate, type WidthOf } from '../../../terminal/width.ts';
import { type BoardRow, type BoardState, selectedRow, visibleRows } from './model.ts';

export interface BoardView {
  columns: number;
  rows: number;
  styles: Styles;
  /** Whether characters beyond ASCII may be used for drawing. */
  unicode: boolean;
  widthOf: WidthOf;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Rows that are not runs: the headline, the names of the columns, the line about the selected run, and the keys. */
const frameRows = 4;
const gap = 2;

/** How many runs, or lines of a transcript, fit. */
export const pageRows = ({ rows }: Pick<BoardView, 'rows'>): number => Math.max(1, rows - frameRows);

export function boardLines(state: BoardState, view: BoardView): string[] {
  const lines = state.showsHelp ? helpLines(view) : state.transcript ? transcriptLines(state, view) : listLines(state, view);
  return lines.slice(0, view.rows);
}

/** A text that fits, from untrusted text. */
const fitted = (text: string, width: number, { widthOf }: BoardView): string => truncate(sanitizeLine(text), Math.max(0, width), widthOf);

interface BoardColumn {
  header: string;
  width: number;
  text: (row: BoardRow) => string;
  style?: (text: string, row: BoardRow) => string;
}

function listLines(state: BoardState, view: BoardView): string[] {
  const { styles } = view;
  const rows = visibleRows(state);
  const selected = selectedRow(state);
  const columns = columnsFor(state, view);
  const height = pageRows(view);
  const index = Math.max(
    0,
    rows.findIndex(({ id }) => id === selected?.id),
  );
  // The selected row stays in the middle, as far as there are rows on both sides.
  const top = Math.max(0, Math.min(index - Math.floor(height / 2), rows.length - height));
  const body = rows.slice(top, top + height).map((row) => rowLine(row, columns, row.id === selected?.id, view));
  if (rows.length === 0) body.push(styles.dim(fitted(emptyText(state), view.columns - gap, view)));
  while (body.length < height) body.push('');
  const header = columns.map(({ header, width }) => pad(header, width, view.widthOf)).join(' '.repeat(gap));
  const position = rows.length > height ? `${top + 1}-${Math.min(rows.length, top + height)} of ${rows.length}` : '';
  return [
    headline(state, position, view),
    styles.dim(fitted(`  ${header}`, view.columns, view)),
    ...body,
    detailLine(state, selected, view),
    footer(state, view),
  ];
}

const emptyText = ({ isLoading, filter, addsNew }: BoardState): string => {
  if (isLoading) return '  Reading the runs.';
  if (filter !== '') return '  No run matches the filter. Press Esc to remove it.';
  return addsNew ? '  No runs match. New ones appear here. Press q to leave.' : '  No runs match.';
};

/** The columns that fit, with their widths: the title and the last step share what the others leave. */
function columnsFor({ rows }: BoardState, view: BoardView): BoardColumn[] {
  const { styles, widthOf, now } = view;
  const widest = (texts: readonly string[], most: number): number =>
    Math.min(most, Math.max(0, ...texts.map((text) => widthOf(sanitizeLine(text)))));
  const isWide = view.columns >= 100;
  const fixed: BoardColumn[] = [
    {
      header: 'RUN',
      width: Math.max(
        3,
        widest(
          rows.map(({ name }) => name),
          isWide ? 36 : 8,
        ),
      ),
      text: ({ name }) => name,
    },
    {
      header: 'STATUS',
      width: Math.max(
        6,
        widest(
          rows.map(({ status }) => status),
          11,
        ),
      ),
      text: ({ status }) => status,
      style: (text, { status }) => (styles.status(status) === status ? text : styles.status(status).replace(status, text)),
    },
    { header: 'SINCE', width: 5, text: ({ since }) => (since === undefined ? '' : elapsedTime(new Date(since), now)) },
  ];
  if (view.columns >= 40)
    fixed.push({
      header: 'AGENT',
      width: Math.max(
        5,
        widest(
          rows.map(({ agent }) => agent),
          isWide ? 24 : 16,
        ),
      ),
      text: ({ agent }) => agent,
    });
  const hasCosts = rows.some(({ cost }) => cost !== undefined);
  const cost: BoardColumn[] = hasCosts && isWide ? [{ header: 'COST', width: 10, text: ({ cost = '' }) => cost }] : [];
  const used = gap + [...fixed, ...cost].reduce((sum, { width }) => sum + width + gap, 0);
  const available = Math.max(0, view.columns - used);
  const title = { header: 'TITLE', text: ({ title }: BoardRow) => title };
  const step = { header: 'LAST STEP', text: ({ request, step = '' }: BoardRow) => (request === undefined ? step : `? ${request}`) };
  if (available < 8) return [...fixed, ...cost];
  if (available < 26) return [...fixed, ...cost, { ...step, width: available }];
  const titleWidth = Math.min(
    Math.max(
      5,
      widest(
        rows.map(({ title: text }) => text),
        40,
      ),
    ),
    Math.floor((available - gap) * 0.45),
  );
  return [
    ...fixed,
    ...cost,
    { ...title, width: titleWidth },
    { ...step, width: available - gap - titleWidth, style: (text) => styles.dim(text) },
  ];
}

function rowLine(row: BoardRow, columns: readonly BoardColumn[], isSelected: boolean, view: BoardView): string {
  const { styles, unicode, widthOf } = view;
  const cells = columns.map(({ text, width, style }) => {
    const cell = pad(fitted(text(row), width, view), width, widthOf);
    if (isSelected) return cell;
    return row.isOver && style === undefined ? styles.dim(cell) : (style?.(cell, row) ?? cell);
  });
  const line = cells.join(' '.repeat(gap)).trimEnd();
  return isSelected ? styles.accent(`${unicode ? '❯' : '>'} ${line}`) : `  ${line}`;
}

/** A run on one line without columns, for the normal screen. */
export const summaryLine = ({ name, status, agent, title }: BoardRow): string => sanitizeLine(`${name}  ${status}  ${agent}: ${title}`);

/** `7 runs: 2 waiting, 1 running, 4 completed` */
function headline(state: BoardState, position: string, view: BoardView): string {
  const { styles, widthOf, now } = view;
  const counts = new Map<string, number>();
  for (const { status } of state.rows) counts.set(status, (counts.get(status) ?? 0) + 1);
  const parts = [...counts].map(([status, count]) => `${count} ${sanitizeLine(status)}`);
  const total = pluralize(state.rows.length, 'run');
  const right =
    state.outageSince === undefined ? position : `no response from the service for ${formatDuration(Math.max(0, now - state.outageSince))}`;
  const left = fitted(parts.length === 0 ? total : `${total}: ${parts.join(', ')}`, view.columns - widthOf(right) - gap, view);
  const space = ' '.repeat(Math.max(gap, view.columns - widthOf(left) - widthOf(right)));
  return `${styles.bold(left)}${right === '' ? '' : `${space}${styles.warning(fitted(right, view.columns, view))}`}`;
}

/** What the selected run asks, or why it failed; what was just done comes first. */
function detailLine({ notice, filter, isFiltering }: BoardState, row: BoardRow | undefined, view: BoardView): string {
  const { styles, columns } = view;
  if (isFiltering) return `${styles.bold('/')}${fitted(filter, columns - 2, view)}${view.unicode ? '▏' : '_'}`;
  if (notice !== undefined) return styles.accent(fitted(notice, columns, view));
  if (row?.problem !== undefined) return styles.error(fitted(`${row.name}: ${row.problem}`, columns, view));
  if (row?.request !== undefined) return styles.warning(fitted(`${row.name} asks: ${row.request}`, columns, view));
  return filter === '' ? '' : styles.dim(fitted(`Filter: ${filter}`, columns, view));
}

function footer({ isFiltering, filter }: BoardState, view: BoardView): string {
  if (isFiltering)
    return keyLine(
      [
        ['Enter', 'apply'],
        ['Esc', 'remove the filter'],
      ],
      view,
    );
  const keys: [string, string][] = [
    ['Enter', 'transcript'],
    ['a', 'answer'],
    ['x', 'stop'],
    ['/', 'filter'],
    ['?', 'help'],
    ['q', 'leave'],
  ];
  return keyLine(filter === '' ? keys : [...keys, ['Esc', 'show all']], view);
}

/** Keys and what they do, as many as fit. */
function keyLine(keys: readonly (readonly [string, string])[], { styles, columns }: BoardView): string {
  let used = 0;
  const parts: string[] = [];
  for (const [key, action] of keys) {
    used += key.length + action.length + 1 + (parts.length === 0 ? 0 : gap);
    if (used > columns) break;
    parts.push(`${styles.bold(key)} ${styles.dim(action)}`);
  }
  return parts.join(' '.repeat(gap));
}

function transcriptLines(state: BoardState, view: BoardView): string[] {
  const { styles, columns } = view;
  const { id, lines, below } = state.transcript as NonNullable<BoardState['transcript']>;
  const row = state.rows.find((each) => each.id === id);
  const height = pageRows(view);
  const end = Math.max(0, lines.length - below);
  const body = lines.slice(Math.max(0, end - height), end);
  const heading = row === undefined ? id : `${row.name}  ${row.agent}: ${row.title}`;
  const status = sanitizeLine(row?.status ?? '');
  const shown = [...body];
  while (shown.length < height) shown.push('');
  const keys: [string, string][] = [
    ['q', 'back'],
    ['a', 'answer'],
    ['x', 'stop'],
    ['g', 'first line'],
    ['G', 'last line'],
  ];
  return [
    `${styles.bold(fitted(heading, columns - gap - view.widthOf(status), view))}${status === '' ? '' : `${' '.repeat(gap)}${styles.status(status)}`}`,
    below > 0 ? styles.dim(fitted(`${below} more lines below`, columns, view)) : '',
    ...shown,
    detailLine(state, row, view),
    keyLine(keys, view),
  ];
}

const help: readonly (readonly [string, string])[] = [
  ['Up, Down, k, j', 'select a run'],
  ['PgUp, PgDn, g, G', 'a page up or down, the first, the last'],
  ['Enter', 'open the transcript of the run; q returns'],
  ['a', 'answer what the run asks'],
  ['x', 'stop the run, after a confirmation'],
  ['/', 'show only runs with this text; Esc shows all'],
  ['q, Ctrl-C', 'leave; the runs continue'],
];

function helpLines(view: BoardView): string[] {
  const { styles, columns } = view;
  const width = Math.max(...help.map(([keys]) => keys.length));
  const body = help.map(([keys, action]) => fitted(`  ${keys.padEnd(width)}  ${action}`, columns, view));
  return [styles.bold('Keys'), '', ...body, '', styles.dim('Press any key to go back.')];
}
