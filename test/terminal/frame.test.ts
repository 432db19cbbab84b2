import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { PromptFrame } from '../../src/terminal/prompting/frame.ts';
import { OutputSide, type OutputStream } from '../../src/terminal/sides.ts';

/** A frame on a terminal with this many columns, and what reaches the terminal. */
function openFrame(columns: number) {
  const writes: string[] = [];
  const stream: OutputStream = Object.assign(
    new Writable({
      write: (chunk, _encoding, callback) => {
        writes.push(String(chunk));
        callback();
      },
    }),
    { isTTY: true, columns },
  );
  const frame = new PromptFrame(new OutputSide(stream, {}), (text) => text.length);
  /** What was written since the last call. */
  const takeOutput = (): string => writes.splice(0).join('');
  return { frame, stream, news: takeOutput };
}

// As @inquirer/core writes pictures: first the sequence that erases the previous one, last the position of the cursor.
const first = '? Which one?\n  One\n  Two\n\u001b[3G';
const second = '? Which?\n  One\n  Two\n\u001b[3G';
const eraseSequence = '\u001b[2K\u001b[1A\u001b[2K\u001b[1A\u001b[2K\u001b[1A\u001b[2K\u001b[G';

it('holds the first picture back until it is to be shown, and then shows the latest one', () => {
  const { frame, news } = openFrame(80);
  frame.write('older\u001b[1G');
  frame.write(`\u001b[2K\u001b[G${first}`);
  frame.write('\u001b[5G');
  expect(news()).toBe('');
  frame.show();
  expect(news()).toBe(first);
});

it('erases as many rows as the picture has after the terminal became narrower', () => {
  const { frame, stream, news } = openFrame(80);
  frame.write(first);
  frame.show();
  news();
  stream.columns = 8;
  // `? Which one?` now takes two rows, the other lines one each; the cursor is in the last, empty line.
  frame.write(`${eraseSequence}${second}`);
  expect(news()).toBe(`\u001b[4A\r\u001b[J${second}`);
  // Pictures drawn after that fit.
  frame.write(`${eraseSequence}${second}`);
  expect(news()).toBe(`\u001b[3A\r\u001b[J${second}`);
});

it('counts rows from the cursor, which may be above the last line', () => {
  const { frame, news } = openFrame(10);
  frame.write('? 0123456789abc\nkeys\u001b[1A\u001b[4G');
  frame.show();
  news();
  frame.write(`\u001b[1B\u001b[2K\u001b[1A\u001b[2K\u001b[G${second}`);
  expect(news()).toBe(`\r\u001b[J${second}`);
});

it('shows the last picture again in its place, with the cursor where it was', () => {
  const { frame, stream, news } = openFrame(80);
  frame.write('? Delete "everything"? (y/N) \u001b[30G');
  frame.show();
  frame.write('\u001b[31G');
  news();
  stream.columns = 20;
  frame.redraw();
  expect(news()).toBe('\u001b[1A\r\u001b[J? Delete "everything\n"? (y/N) \u001b[11G');
  frame.write('\u001b[12G');
  news();
  frame.write('\u001b[2K\u001b[G? Delete "everything"? Yes\n');
  expect(news()).toBe('\u001b[1A\r\u001b[J? Delete "everything"? Yes\n');
});

it('shows the last picture again below the output written since it was left', () => {
  const { frame, news } = openFrame(80);
  frame.write('? Name\nkeys\u001b[1A\u001b[7G');
  frame.show();
  frame.leave();
  news();
  frame.redraw();
  expect(news()).toBe('? Name\nkeys\u001b[1A\u001b[7G');
});

it('leaves the picture behind below its last line', () => {
  const { frame, news } = openFrame(80);
  frame.write('? Name\nkeys\u001b[1A\u001b[7G');
  frame.show();
  news();
  frame.leave();
  expect(news()).toBe('\u001b[1B\r\n\u001b[?25h');
});

it('moves the cursor where the prompt places it, from where later pictures are erased', () => {
  const { frame, stream, news } = openFrame(80);
  frame.write('? Name\u001b[7G');
  frame.show();
  news();
  frame.write('\u001b[31G');
  expect(news()).toBe('\u001b[31G');
  stream.columns = 20;
  // The cursor is in the second row now.
  frame.write('\u001b[2K\u001b[G? Next\u001b[7G');
  expect(news()).toBe('\u001b[1A\r\u001b[J? Next\u001b[7G');
});

it('does not erase anything that the prompt does not erase', () => {
  const { frame, news } = openFrame(80);
  frame.write('? Name\u001b[7G');
  frame.show();
  news();
  frame.write('\nmore');
  expect(news()).toBe('\nmore');
});

it('shows a picture without a cursor again', () => {
  const { frame, news } = openFrame(80);
  frame.write('? Name\nkeys');
  frame.show();
  news();
  frame.redraw();
  expect(news()).toBe('\u001b[1A\r\u001b[J? Name\nkeys\u001b[1G');
});

it('wraps lines above and below the cursor, without counting colours', () => {
  const { frame, stream, news } = openFrame(80);
  frame.write('\u001b[31m0123456789\u001b[39m\nabcdefghijkl\n? x\nkeys\u001b[1A\u001b[4G');
  frame.show();
  news();
  stream.columns = 10;
  frame.redraw();
  expect(news()).toBe('\u001b[3A\r\u001b[J\u001b[31m0123456789\u001b[39m\nabcdefghij\nkl\n? x\nkeys\u001b[1A\u001b[4G');
});

it('keeps the cursor in the last row if it is behind a full line', () => {
  const { frame, stream, news } = openFrame(80);
  frame.write('0123456789\u001b[11G');
  frame.show();
  news();
  stream.columns = 10;
  frame.redraw();
  expect(news()).toBe('\u001b[1A\r\u001b[J0123456789\u001b[1G');
});

it.each([
  ['the first of three lines', '\u001b[2A\u001b[1G', '\u001b[2B\r\n\u001b[?25h'],
  ['the second of three lines', '\u001b[1A\u001b[1G', '\u001b[1B\r\n\u001b[?25h'],
  ['the last line', '\u001b[1G', '\r\n\u001b[?25h'],
])('is left from %s', (_, placement, text) => {
  const { frame, news } = openFrame(80);
  frame.write(`one\ntwo\nthree${placement}`);
  frame.show();
  news();
  frame.leave();
  expect(news()).toBe(text);
});
