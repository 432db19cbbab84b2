/** A prompt to choose any number of options. */
import { createPrompt, isEnterKey, isSpaceKey, useKeypress, usePagination, useState } from '@inquirer/core';
import { movesCursor, nextIndex, type Row } from './choose.ts';
import { answeredView, type Base, footer, headingView, type KeyHelp, useRedraws } from './view.ts';

export interface ChooseSeveralConfig {
  base: Base;
  rows: readonly Row[];
  /** Indexes of the rows that are chosen initially. */
  initial: readonly number[];
  /** Whether at least one must be chosen. */
  required: boolean;
}

const pageSize = 9;
const cursorHide = '\u001b[?25l';

/** Resolves to the indexes of the chosen rows, in ascending order. */
export const chooseSeveral = createPrompt<number[], ChooseSeveralConfig>(({ base, rows, initial, required }, done) => {
  const { theme } = base;
  useRedraws(base.open);
  const [isSubmitted, setSubmitted] = useState(false);
  const [active, setActive] = useState(0);
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set(initial));
  const [error, setError] = useState<string | undefined>(undefined);
  const indexes = rows.map((_, index) => index);
  const sortedIndexes = indexes.filter((index) => selected.has(index));

  useKeypress((key, rl) => {
    if (isSubmitted) return;
    rl.clearLine(0);
    setError(undefined);
    if (isEnterKey(key)) {
      if (required && selected.size === 0) return setError('Choose at least one option with the space bar.');
      setSubmitted(true);
      done(sortedIndexes);
    } else if (key.name === 'escape') {
      if (base.escape !== undefined) base.onEscape();
    } else if (isSpaceKey(key)) setSelected(toggle(selected, active));
    else if (key.name === 'a') setSelected(new Set(selected.size === rows.length ? [] : indexes));
    else if (movesCursor(key)) setActive(nextIndex(key, active, rows.length));
  });

  const page = usePagination({
    items: indexes,
    active,
    renderItem: ({ item }) => {
      const box = selected.has(item) ? theme.icon.checked : theme.icon.unchecked;
      const { name } = rows[item] as Row;
      return item === active ? theme.style.highlight(`${theme.icon.cursor}${box} ${name}`) : ` ${box} ${name}`;
    },
    pageSize,
    loop: false,
  });
  if (isSubmitted) return answeredView(base, [sortedIndexes.map((index) => rows[index]?.name).join(', ')]);
  const description = rows[active]?.description;
  const keys: KeyHelp[] = [
    ['↑↓', 'move'],
    ['space', 'choose'],
    ['a', 'all'],
    ['⏎', 'confirm'],
  ];
  const body = [page, ' ', ...(description ? [theme.style.description(description)] : []), footer(base, error, keys)].join('\n');
  return `${headingView(base)}\n${body}${cursorHide}`;
});

function toggle(selectedIndexes: ReadonlySet<number>, index: number): ReadonlySet<number> {
  const selection = new Set(selectedIndexes);
  if (!selection.delete(index)) selection.add(index);
  return selection;
}
