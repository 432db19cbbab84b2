/**
 * A yes-or-no prompt. The ready-made one accepts everything that begins with "y" as a yes, and Enter after any other word as
 * the default.
 */
import { createPrompt, isEnterKey, isTabKey, useKeypress, useState } from '@inquirer/core';
import { sanitizeLine } from '../sanitize.ts';
import { answeredView, type Base, headingView, useRedraws } from './view.ts';

export interface ConfirmConfig {
  base: Base;
  /** What Enter alone means. */
  initial: boolean;
}

/** Resolves to whether the user typed a yes. */
export const confirm = createPrompt<boolean, ConfirmConfig>(({ base, initial }, done) => {
  const { theme } = base;
  useRedraws(base.open);
  const [answer, setAnswer] = useState<boolean | undefined>(undefined);
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<string | undefined>(undefined);

  useKeypress((key, rl) => {
    if (answer !== undefined) return;
    if (!isEnterKey(key)) {
      if (isTabKey(key)) {
        rl.clearLine(0);
        rl.write(typed);
      }
      setError(undefined);
      return setTyped(rl.line);
    }
    const decision = decisionOf(typed, initial);
    if (decision === undefined) {
      // The line reader has cleared its line.
      setError(`"${sanitizeLine(typed.trim())}" is neither yes nor no. Type y or n.`);
      return setTyped('');
    }
    setAnswer(decision);
    done(decision);
  });

  if (answer !== undefined) return answeredView(base, [answer ? 'Yes' : 'No']);
  const line = headingView(base, `${theme.style.defaultAnswer(initial ? 'Y/n' : 'y/N')} ${sanitizeLine(typed)}`);
  return [line, error === undefined ? '' : theme.style.error(error)];
});

/** What a word means; undefined if it is neither a yes nor a no. Pure. */
export function decisionOf(typedText: string, initial: boolean): boolean | undefined {
  const word = typedText.trim().toLowerCase();
  if (word === '') return initial;
  if (word === 'y' || word === 'yes') return true;
  return word === 'n' || word === 'no' ? false : undefined;
}
