/** What the board shows, and how events and keys change it. Pure. */

export interface BoardRow {
  id: string;
  /** `#17`, or the ID of a run without a number. */
  name: string;
  agent: string;
  title: string;
  status: string;
  /** When the run came to its status, in milliseconds since the epoch: for a waiting run, since when it waits. */
  since: number | undefined;
  /** Its last message on one line. */
  step?: string | undefined;
  /** `0.12 USD` */
  cost?: string | undefined;
  /** The title of its pending request. */
  request?: string | undefined;
  /** Why it failed, or cannot be watched. */
  problem?: string | undefined;
  isOver: boolean;
}

/** The transcript of a run that is open. */
export interface OpenTranscript {
  id: string;
  lines: readonly string[];
  /** How many lines below the last visible one; 0 follows the run. */
  below: number;
}

export interface BoardState {
  rows: readonly BoardRow[];
  selectedId: string | undefined;
  filter: string;
  /** Whether keys are typed into the filter. */
  isFiltering: boolean;
  showsHelp: boolean;
  transcript: OpenTranscript | undefined;
  /** A sentence about what was just done. */
  notice: string | undefined;
  /** Since when the service has not answered, in milliseconds since the epoch. */
  outageSince: number | undefined;
  /** Whether nothing has been read yet. */
  isLoading: boolean;
  /** Whether runs that match later are added. */
  addsNew: boolean;
}

export const emptyBoard = (addsNew: boolean): BoardState => ({
  rows: [],
  selectedId: undefined,
  filter: '',
  isFiltering: false,
  showsHelp: false,
  transcript: undefined,
  notice: undefined,
  outageSince: undefined,
  isLoading: true,
  addsNew,
});

/** What a key asks for, besides changing what is shown. */
export type BoardAction = { type: 'open' | 'answer' | 'stop'; id: string } | { type: 'leave' };

/** Waiting runs come first, the longest waiting one on top; runs that have ended come last, the latest end first. */
export function sortedRows(rows: readonly BoardRow[]): BoardRow[] {
  const rank = ({ status, isOver }: BoardRow): number => (isOver ? 2 : status === 'waiting' ? 0 : 1);
  const time = ({ since }: BoardRow): number => since ?? 0;
  return [...rows].sort((a, b) => rank(a) - rank(b) || (rank(a) === 2 ? time(b) - time(a) : time(a) - time(b)) || (a.id < b.id ? -1 : 1));
}

/** The rows that contain all words of the filter. */
export function visibleRows({ rows, filter }: Pick<BoardState, 'rows' | 'filter'>): readonly BoardRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter(({ name, agent, title, status, request = '' }) => {
    const text = `${name} ${agent} ${title} ${status} ${request}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The selected row, which stays selected wherever it moves. */
export const selectedRow = (state: BoardState): BoardRow | undefined => {
  const rows = visibleRows(state);
  return rows.find(({ id }) => id === state.selectedId) ?? rows[0];
};

/** The board with other rows. */
export function withRows(state: BoardState, rows: readonly BoardRow[]): BoardState {
  const sorted = sortedRows(rows);
  return { ...state, rows: sorted, isLoading: false };
}

/** The board with a fixed selection: a key must not act on another run than the one that was highlighted. */
export const withSelection = (state: BoardState): BoardState => ({ ...state, selectedId: selectedRow(state)?.id });

/** How far a key moves: rows, or lines of a transcript. */
function distanceOf(key: string, pageRows: number): number | undefined {
  switch (key) {
    case '\u001b[A':
    case '\u001bOA':
    case 'k':
      return -1;
    case '\u001b[B':
    case '\u001bOB':
    case 'j':
      return 1;
    case '\u001b[5~':
      return -pageRows;
    case '\u001b[6~':
    case ' ':
      return pageRows;
    case '\u001b[H':
    case '\u001b[1~':
    case 'g':
      return Number.NEGATIVE_INFINITY;
    case '\u001b[F':
    case '\u001b[4~':
    case 'G':
      return Number.POSITIVE_INFINITY;
    default:
      return undefined;
  }
}

const escapeKey = '\u001b';
const isEnter = (key: string): boolean => key === '\r' || key === '\n';

/**
 * What a key does.
 * @param pageRows how many rows a page has
 */
export function press(state: BoardState, key: string, pageRows: number): { state: BoardState; action?: BoardAction } {
  if (state.showsHelp) return { state: { ...state, showsHelp: false } };
  if (state.isFiltering) return { state: typeFilter(state, key) };
  const shown = { ...state, notice: undefined };
  if (key === '?' || key === 'h') return { state: { ...shown, showsHelp: true } };
  if (state.transcript) return pressInTranscript(shown, state.transcript, key, pageRows);
  const distance = distanceOf(key, pageRows);
  if (distance !== undefined) return { state: move(shown, distance) };
  if (key === '/') return { state: { ...shown, isFiltering: true } };
  if (key === escapeKey && state.filter !== '') return { state: { ...shown, filter: '' } };
  if (key === 'q') return { state: shown, action: { type: 'leave' } };
  return { state: shown, ...actionOf(key, selectedRow(state)) };
}

function actionOf(key: string, row: BoardRow | undefined): { action?: BoardAction } {
  if (row === undefined) return {};
  if (isEnter(key)) return { action: { type: 'open', id: row.id } };
  if (key === 'a') return { action: { type: 'answer', id: row.id } };
  if (key === 'x') return { action: { type: 'stop', id: row.id } };
  return {};
}

function pressInTranscript(
  state: BoardState,
  transcript: OpenTranscript,
  key: string,
  pageRows: number,
): { state: BoardState; action?: BoardAction } {
  if (key === 'q' || key === escapeKey || key === '\u007f' || key === '\u001b[D') return { state: { ...state, transcript: undefined } };
  const distance = distanceOf(key, pageRows);
  if (distance !== undefined) {
    const most = Math.max(0, transcript.lines.length - pageRows);
    const below = Math.min(most, Math.max(0, transcript.below - distance));
    return { state: { ...state, transcript: { ...transcript, below } } };
  }
  if (isEnter(key)) return { state };
  return {
    state,
    ...actionOf(
      key,
      state.rows.find(({ id }) => id === transcript.id),
    ),
  };
}

function move(state: BoardState, distance: number): BoardState {
  const rows = visibleRows(state);
  const index = rows.findIndex(({ id }) => id === selectedRow(state)?.id);
  const target = Math.min(rows.length - 1, Math.max(0, index + distance));
  return { ...state, selectedId: rows[target]?.id ?? state.selectedId };
}

function typeFilter(state: BoardState, key: string): BoardState {
  if (isEnter(key)) return { ...state, isFiltering: false };
  if (key === escapeKey) return { ...state, isFiltering: false, filter: '' };
  if (key === '\u007f' || key === '\b') return { ...state, filter: [...state.filter].slice(0, -1).join('') };
  if (key === '\u0015') return { ...state, filter: '' };
  // Other control characters and keys, such as arrows, are not part of a text.
  return key.length > 2 || key < ' ' ? state : { ...state, filter: state.filter + key };
}

/** A transcript with more lines; a position in the past stays where it is. */
export function withTranscriptLines(state: BoardState, id: string, lines: readonly string[]): BoardState {
  const { transcript } = state;
  if (transcript?.id !== id || lines.length === 0) return state;
  const below = transcript.below === 0 ? 0 : transcript.below + lines.length;
  return { ...state, transcript: { ...transcript, lines: [...transcript.lines, ...lines], below } };
}
