/** A prompt for a text: one line, or the lines of a pasted text. */
import { createPrompt, isBackspaceKey, isEnterKey, useEffect, useKeypress, useRef, useState } from '@inquirer/core';
import { sanitize } from '../sanitize.ts';
import { answeredView, clipLines, footer, headingView, type KeyHelp, useRedraws } from './view.ts';
import type { WriteConfig } from './write-config.ts';

/** The line being written, and the lines above it. */
type WrittenText = { lines: readonly string[]; line: string };

type LineReader = Parameters<Parameters<typeof useKeypress>[0]>[1] & { cursor: number };

/** Resolves to the text, or to undefined for Enter without a text if `onEmpty` is set. */
export const write = createPrompt<string | undefined, WriteConfig>((config, done) => {
  const { base, validate, onEmpty } = config;
  const { theme, open } = base;
  useRedraws(open);
  const [answer, setAnswer] = useState<string | undefined>(undefined);
  const [written, setWritten] = useState<WrittenText>({ lines: [], line: '' });
  const [error, setError] = useState<string | undefined>(config.problem);
  const change = (next: WrittenText): void => {
    setWritten(next);
    setError(undefined);
    const text = textOf(next);
    open.keyboard.hasText = () => text !== '';
    config.onChange(text);
  };
  const paste = useRef<(text: string, reader: LineReader) => void>(() => undefined);
  paste.current = (text, reader) => {
    if (answer !== undefined) return;
    const next = insertPasted(written, text, reader.cursor);
    replaceLine(reader, next.line, next.line.length - next.cursorAfter);
    change({ lines: next.lines, line: next.line });
  };
  useEffect((reader) => {
    open.keyboard.onPaste = (text) => paste.current?.(text, reader as LineReader);
    if (config.text !== '') open.keyboard.onPaste(config.text);
    // Inserting the initial text does not resolve the problem that it has.
    setError(config.problem);
  }, []);

  useKeypress((key, rl) => {
    const reader = rl as LineReader;
    if (answer !== undefined) return;
    if (isEnterKey(key)) {
      const text = textOf(written);
      // The line reader has cleared its line.
      reader.write(written.line);
      if (text === '' && onEmpty !== undefined) {
        open.vanishes = true;
        setAnswer('');
        return done(undefined);
      }
      const valid = validate(text);
      if (valid !== true) return setError(valid);
      setAnswer(text);
      done(text);
    } else if (key.name === 'escape') {
      if (base.escape !== undefined) base.onEscape();
    } else if (isBackspaceKey(key) && reader.cursor === 0 && reader.line === written.line && written.lines.length > 0) {
      const joinedLine = `${written.lines.at(-1)}${written.line}`;
      replaceLine(reader, joinedLine, joinedLine.length - written.line.length);
      change({ lines: written.lines.slice(0, -1), line: joinedLine });
    } else if (reader.line !== written.line) change({ ...written, line: reader.line });
  });

  if (answer !== undefined) return answeredView(base, clipLines(sanitize(answer).split('\n')));
  const isEmpty = textOf(written) === '';
  const keys: KeyHelp[] = [['⏎', isEmpty && onEmpty !== undefined ? onEmpty : 'confirm']];
  // The text being written must come last above the keys, so the details go above the message.
  const { above, message, detail } = base.heading;
  const heading = headingView({ ...base, heading: { above: [above, detail].filter(Boolean).join('\n'), message, detail: '' } });
  const lines = clipLines(written.lines.map((text) => `  ${theme.style.answer(sanitize(text))}`));
  const content = lines.length === 0 ? `${heading} ${written.line}` : [heading, ...lines, `  ${written.line}`].join('\n');
  return [content, footer(base, error, keys)];
});

const textOf = ({ lines, line }: WrittenText): string => [...lines, line].join('\n');

/** The text after pasting at the cursor of its last line; `cursorAfter` is the length of the text behind the cursor. Pure. */
export function insertPasted({ lines, line }: WrittenText, text: string, cursor: number): WrittenText & { cursorAfter: number } {
  const textAfter = line.slice(cursor);
  const parts = `${line.slice(0, cursor)}${text}`.split('\n');
  // The width of a tab depends on its column, which the line reader cannot know.
  if (parts.at(-1)?.includes('\t')) parts.push('');
  const lastLine = parts.pop() as string;
  return { lines: [...lines, ...parts], line: `${lastLine}${textAfter}`, cursorAfter: textAfter.length };
}

/** Replaces the reader's line and places the cursor. */
function replaceLine(reader: LineReader, line: string, cursor: number): void {
  reader.clearLine(0);
  reader.write(line);
  reader.cursor = cursor;
}
