/** The board of runs: its screens at several sizes, and what keys do. The screens are in board-screens/; accept changes with -u. */
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import type { Context } from '../../src/cli/kit/context.ts';
import type { Client } from '../../src/client/client.ts';
import { rowOf } from '../../src/commands/runs/board/board.ts';
import { DetailLoader } from '../../src/commands/runs/board/details.ts';
import {
  type BoardRow,
  type BoardState,
  emptyBoard,
  press,
  selectedRow,
  visibleRows,
  withRows,
  withSelection,
  withTranscriptLines,
} from '../../src/commands/runs/board/model.ts';
import { boardLines, pageRows, summaryLine } from '../../src/commands/runs/board/screen.ts';
import type { RunListItem } from '../../src/interface/types.ts';
import { plainStyles, resolveMarkup } from '../../src/terminal/style.ts';
import { widthFor } from '../../src/terminal/width.ts';
import { WatchedRun } from '../../src/watch/many/watched-run.ts';
import { ManualClock, within } from '../service/helpers/clock.ts';

const now = Date.parse('2026-11-23T12:00:00Z');
const minutes = (count: number): number => now - count * 60_000;
const widthOf = await widthFor(['ä']);
const keys = { up: '\u001b[A', down: '\u001b[B', end: 'G', home: 'g', enter: '\r', escape: '\u001b', backspace: '\u007f' };

const row = (number: number, values: Partial<BoardRow> = {}): BoardRow => ({
  id: `id-${number}`,
  name: `#${number}`,
  agent: 'invoice-check',
  title: `Invoices of week ${number}`,
  status: 'running',
  since: minutes(number),
  step: `exec  wc -l < week-${number}.csv`,
  isOver: false,
  ...values,
});

const rows: BoardRow[] = [
  row(12, { status: 'completed', isOver: true, since: minutes(90), cost: '0.12 USD', step: 'Done: 3 invoices' }),
  row(14, { status: 'failed', isOver: true, since: minutes(3), problem: 'The file is empty.', step: '✗ exec' }),
  row(15),
  row(16, { status: 'pending', since: now - 4_000, step: undefined }),
  row(17, { status: 'waiting', since: minutes(8), request: 'Pay 3 invoices for 4,065.75 €?' }),
  row(18, { status: 'waiting', since: minutes(42), request: 'Which vendor?', agent: 'vendor-lookup', title: '請求書を三件支払いますか' }),
];

const board = (values: Partial<BoardState> = {}): BoardState => withRows({ ...emptyBoard(false), ...values }, values.rows ?? rows);
const many = Array.from({ length: 200 }, (_, index) => row(index + 1));

const show = (state: BoardState, columns: number, height: number): string[] =>
  boardLines(state, { columns, rows: height, styles: plainStyles, unicode: true, widthOf, now });

const sizes = [
  [80, 24],
  [80, 14],
  [120, 40],
  [40, 14],
] as const;

const states: Record<string, BoardState> = {
  runs: board(),
  'many-runs': press(board({ rows: many }), 'G', 20).state,
  filter: board({ filter: 'vendor', isFiltering: true }),
  loading: emptyBoard(true),
  outage: board({ outageSince: now - 12_000, notice: 'Answered: Pay?' }),
  help: board({ showsHelp: true }),
  transcript: withTranscriptLines(
    board({ transcript: { id: 'id-17', lines: [], below: 0 } }),
    'id-17',
    Array.from({ length: 50 }, (_, index) => `line ${index + 1}`),
  ),
};

describe.each(Object.entries(states))('the screen with %s', (name, state) => {
  it.each(sizes)('fits %i columns and %i rows', async (columns, height) => {
    const lines = show(state, columns, height);
    expect(lines.length).toBeLessThanOrEqual(height);
    for (const line of lines) expect(stringWidth(line), line).toBeLessThanOrEqual(columns);
    await expect(`${lines.map((line) => line.trimEnd()).join('\n')}\n`).toMatchFileSnapshot(
      `board-screens/${name}-${columns}x${height}.txt`,
    );
  });
});

it('shows control characters of the service as text', () => {
  const hostile = '\u001b[2J\u001b]0;title\u0007\n\u202e';
  const state = board({
    rows: [row(1, { title: hostile, agent: hostile, step: hostile, request: hostile, status: hostile, name: hostile })],
  });
  for (const [columns, height] of sizes) {
    const text = [...show(state, columns, height), ...state.rows.map(summaryLine)].map(resolveMarkup).join('');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test searches for control characters
    expect(text).not.toMatch(/[\u0000-\u001f\u202e]/);
  }
});

describe('the rows', () => {
  it('begin with the run that has waited longest, and end with those that have ended', () => {
    expect(board().rows.map(({ name }) => name)).toEqual(['#18', '#17', '#15', '#16', '#14', '#12']);
  });

  it('keep the selected run selected when they move', () => {
    let state = press(board(), keys.down, 20).state;
    expect(selectedRow(state)?.name).toBe('#17');
    state = withRows(
      state,
      rows.map((each) => (each.name === '#17' ? { ...each, status: 'completed', isOver: true, since: now } : each)),
    );
    expect(selectedRow(state)?.name).toBe('#17');
    // Also without a choice of the person, once the rows were shown.
    const first = withSelection(board());
    expect(selectedRow(withRows(first, [...rows, row(99, { status: 'waiting', since: minutes(99) })]))?.name).toBe('#18');
  });

  it('can be filtered by words, which Esc removes', () => {
    let state = press(board(), '/', 20).state;
    for (const key of 'WAIT x') state = press(state, key, 20).state;
    state = press(state, keys.backspace, 20).state;
    expect(visibleRows(state).map(({ name }) => name)).toEqual(['#18', '#17']);
    state = press(state, keys.enter, 20).state;
    expect(press(state, 'x', 20).action).toEqual({ type: 'stop', id: 'id-18' });
    expect(visibleRows(press(state, keys.escape, 20).state)).toHaveLength(6);
  });
});

describe('keys', () => {
  it('move by a row, a page, and to both ends', () => {
    let state = board({ rows: many });
    const name = (): string | undefined => selectedRow(state)?.name;
    const first = name();
    for (const key of [keys.up, keys.down, '\u001b[6~', '\u001b[5~', keys.up]) state = press(state, key, 20).state;
    expect(name()).toBe(first);
    state = press(state, keys.end, 20).state;
    expect(selectedRow(state)).toBe(state.rows.at(-1));
    expect(press(state, keys.home, 20).state.selectedId).toBe(state.rows[0]?.id);
  });

  it('ask for actions on the selected run, and for nothing while a filter is typed or help is shown', () => {
    const state = board();
    expect(press(state, keys.enter, 20).action).toEqual({ type: 'open', id: 'id-18' });
    expect(press(state, 'a', 20).action).toEqual({ type: 'answer', id: 'id-18' });
    expect(press(state, 'q', 20).action).toEqual({ type: 'leave' });
    expect(press({ ...state, isFiltering: true }, 'q', 20)).toMatchObject({ state: { filter: 'q' } });
    for (const key of ['x', 'a', 'q', keys.enter]) expect(press({ ...state, showsHelp: true }, key, 20).action).toBeUndefined();
    expect(press(board({ rows: [] }), 'x', 20).action).toBeUndefined();
  });

  it('scroll a transcript, which otherwise follows the run, and return from it', () => {
    const open = states.transcript as BoardState;
    const last = (state: BoardState): string | undefined => show(state, 80, 24).findLast((line) => line.startsWith('line '));
    expect(last(open)).toBe('line 50');
    const scrolled = press(open, keys.up, pageRows({ rows: 24 })).state;
    expect(last(scrolled)).toBe('line 49');
    expect(last(withTranscriptLines(scrolled, 'id-17', ['line 51']))).toBe('line 49');
    expect(last(withTranscriptLines(open, 'id-17', ['line 51']))).toBe('line 51');
    expect(press(open, keys.home, 20).state.transcript?.below).toBe(30);
    expect(press(open, 'x', 20).action).toEqual({ type: 'stop', id: 'id-17' });
    expect(press(open, 'q', 20)).toMatchObject({ state: { transcript: undefined } });
    expect(press(open, 'q', 20).action).toBeUndefined();
  });
});

describe('the age of a run', () => {
  const [created_at, started_at, updated_at, completed_at] = [1, 2, 3, 4].map((minute) => new Date(now + minute * 60_000).toISOString());
  const since = (status: string, times: object, isOver = false): number | undefined => {
    const run = new WatchedRun('id', new ManualClock(), { id: 'id', status, created_at, updated_at, ...times } as unknown as RunListItem);
    run.isOver = isOver;
    const time = rowOf(run, 'invoice-check', undefined, undefined).since;
    return time === undefined ? undefined : (time - now) / 60_000;
  };

  it.each([
    ['was created, if it has not started', 'pending', {}, false, 1],
    ['was started', 'running', { started_at }, false, 2],
    ['began to wait', 'waiting', { started_at }, false, 3],
    ['ended', 'completed', { started_at, completed_at }, true, 4],
  ])('counts from when it %s', (_, status, times, isOver, minute) => {
    expect(since(status, times, isOver)).toBe(minute);
  });

  it('is unknown if the service does not say when it ended', () => {
    expect(since('completed', { started_at }, true)).toBeUndefined();
  });
});

describe('the details of a run', () => {
  it('are read again after another turn, also if the run has the same status as before', async () => {
    const clock = new ManualClock();
    const message = { role: 'assistant', type: 'message', text_content: 'first' };
    const client = { call: async () => ({ total: 1, messages: [{ ...message }] }) };
    const item = { id: 'run', status: 'completed', completed_at: '2026-11-23T12:00:00Z' } as unknown as RunListItem;
    const run = new WatchedRun('run', clock, item);
    run.isOver = true;
    Object.assign(run.state, { status: 'completed' });
    const steps: (string | undefined)[] = [];
    const end = new AbortController();
    const loader = new DetailLoader(
      { clock, teamId: () => 'team' } as unknown as Context,
      client as unknown as Client,
      () => [run],
      (_, { step }) => steps.push(step),
    );
    const following = loader.follow(end.signal);
    const looks = (count: number) => within(count * 500, clock, async () => clock.sleeps > count);
    await looks(2);
    expect(steps).toEqual(['first']);
    message.text_content = 'second';
    run.run = { ...item, completed_at: '2026-11-23T12:00:01Z' };
    await looks(6);
    expect(steps).toEqual(['first', 'second']);
    end.abort();
    await following;
  });
});
