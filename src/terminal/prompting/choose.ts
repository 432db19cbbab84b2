/**
 * A prompt to choose one option, from a list that can be filtered by typing. When Enter arrives together with typed text,
 * the ready-made search prompt would choose from the list as it was before that text.
 */
import { createPrompt, isDownKey, isEnterKey, isUpKey, useKeypress, usePagination, useState } from '@inquirer/core';
import { answeredView, type Base, footer, headingView, type KeyHelp, useRedraws } from './view.ts';

export interface Row {
  name: string;
  description?: string;
}

export interface ChooseConfig {
  base: Base;
  rows: readonly Row[];
  /** The row that is highlighted at first; -1 for none, so that Enter alone chooses nothing. */
  initial: number;
  /** Whether typing filters the list. */
  filter: boolean;
}

const pageSize = 9;
const cursorHide = '\u001b[?25l';

/** Resolves to the index of the chosen row. */
export const choose = createPrompt<number, ChooseConfig>((config, done) => {
  const { base, rows, filter } = config;
  const { theme } = base;
  useRedraws(base.open);
  const [selectedIndex, setSelectedIndex] = useState(-1);
  const [active, setActive] = useState(config.initial);
  const [searchText, setSearchText] = useState('');
  const [error, setError] = useState<string | undefined>(undefined);
  const matches = matchingIndexes(rows, searchText);

  useKeypress((key, rl) => {
    if (selectedIndex >= 0) return;
    if (isEnterKey(key)) {
      const index = matches[active];
      if (index === undefined) {
        // The line reader has cleared its line.
        rl.write(searchText);
        setError(matches.length === 0 ? 'Nothing matches.' : 'Choose with the arrow keys first.');
        return;
      }
      setSelectedIndex(index);
      done(index);
    } else if (key.name === 'escape') {
      if (base.escape !== undefined) base.onEscape();
    } else if (movesCursor(key)) {
      setError(undefined);
      setActive(nextIndex(key, active, matches.length));
    } else if (filter) {
      setError(undefined);
      setSearchText(rl.line);
      setActive(0);
    } else rl.clearLine(0);
  });

  const page = usePagination({
    items: matches,
    active: Math.max(0, active),
    renderItem: ({ item, index }) => {
      const { name } = rows[item] as Row;
      return index === active ? theme.style.highlight(`${theme.icon.cursor} ${name}`) : `  ${name}`;
    },
    pageSize,
    loop: false,
  });
  if (selectedIndex >= 0) return answeredView(base, [(rows[selectedIndex] as Row).name]);
  const description = rows[matches[active] as number]?.description;
  const keys: KeyHelp[] = [['↑↓', 'choose'], ...(filter ? ([['type', 'to search']] satisfies KeyHelp[]) : []), ['⏎', 'confirm']];
  const body = [
    matches.length === 0 ? theme.style.help('  Nothing matches.') : page,
    ' ',
    ...(description ? [theme.style.description(description)] : []),
    footer(base, error, keys),
  ].join('\n');
  return filter ? [headingView(base, searchText), body] : `${headingView(base)}\n${body}${cursorHide}`;
});

/** Indexes of the rows that contain the term. */
const matchingIndexes = (rows: readonly Row[], searchText: string): number[] =>
  rows.flatMap(({ name }, index) => (name.toLowerCase().includes(searchText.trim().toLowerCase()) ? [index] : []));

type Key = Parameters<typeof isUpKey>[0];

/** Whether a key moves the highlight. */
export const movesCursor = (key: Key): boolean =>
  isUpKey(key) || isDownKey(key) || ['home', 'end', 'pageup', 'pagedown'].includes(key.name);

/** The row to which a key moves the highlight. With no row highlighted, up moves to the last one. */
export function nextIndex(key: Key, active: number, count: number): number {
  const lastIndex = count - 1;
  if (key.name === 'home') return Math.min(0, lastIndex);
  if (key.name === 'end') return lastIndex;
  if (isUpKey(key)) return active < 0 ? lastIndex : Math.max(0, active - 1);
  const step = key.name === 'pagedown' ? pageSize : key.name === 'pageup' ? -pageSize : 1;
  return Math.max(Math.min(0, lastIndex), Math.min(lastIndex, active + step));
}
