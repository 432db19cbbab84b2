/**
 * Where a prompt is drawn: between the library and the terminal. It says how wide the terminal is even where the terminal does
 * not, holds the first picture back until keys that were typed too early are gone, and clears up after a resize.
 */
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { OutputSide } from '../streams.ts';
import type { WidthOf } from '../width.ts';

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: it is about escape sequences
/** How @inquirer/core erases the picture before it: down past it, then line by line up to its beginning. */
const erasing = /^(?:\u001b\[\d+B)?\u001b\[2K(?:\u001b\[1A\u001b\[2K)*\u001b\[G/;
/** How it puts the cursor after a picture: up by some lines, then to a column. */
const placing = /(?:\u001b\[(\d+)A)?\u001b\[(\d+)G$/;
const onlyPlacing = /^\u001b\[(\d+)G$/;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above

export class PromptFrame extends Writable {
  readonly isTTY = true;
  readonly #side: OutputSide;
  readonly #widthOf: WidthOf;
  /** The picture that is not to be shown yet. */
  #held: string | undefined = '';
  /** What is on the screen, line by line, and where the cursor is in it. */
  #lines: string[] = [''];
  #cursor = { row: 0, column: 0 };
  /** Whether the screen was cleared, so that the next picture has nothing to erase. */
  #cleared = true;

  constructor(side: OutputSide, widthOf: WidthOf) {
    super({ decodeStrings: false });
    this.#side = side;
    this.#widthOf = widthOf;
  }

  get columns(): number {
    return this.#side.columns;
  }

  get rows(): number | undefined {
    return this.#side.rows;
  }

  /** Shows the picture that was held back, and every one from now on. */
  show(): void {
    const held = this.#held ?? '';
    this.#held = undefined;
    this.#draw(held);
  }

  /**
   * Erases the picture, wherever its lines are now: a terminal that became narrower has broken them. The next picture is drawn
   * in its place.
   */
  clear(): void {
    const rowsOf = (text: string): number => Math.max(1, Math.ceil(this.#widthOf(stripVTControlCharacters(text)) / this.columns));
    const above = this.#lines.slice(0, this.#cursor.row).reduce((rows, line) => rows + rowsOf(line), 0);
    const rows = above + Math.floor(this.#cursor.column / this.columns);
    this.#write(`${rows > 0 ? `\u001b[${rows}A` : ''}\r\u001b[J`);
    this.#blank();
  }

  /** Leaves the picture where it is, and goes on below it. */
  leave(): void {
    const down = this.#lines.length - 1 - this.#cursor.row;
    this.#write(`${down > 0 ? `\u001b[${down}B` : ''}\r\n\u001b[?25h`);
    this.#blank();
  }

  #blank(): void {
    this.#lines = [''];
    this.#cursor = { row: 0, column: 0 };
    this.#cleared = true;
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    const text = String(chunk);
    if (this.#held === undefined) this.#draw(text);
    else if (!onlyPlacing.test(text)) this.#held = text;
    done();
  }

  #draw(text: string): void {
    const column = onlyPlacing.exec(text);
    if (column) {
      this.#cursor.column = Number(column[1]) - 1;
      this.#write(text);
      return;
    }
    const erased = text.match(erasing)?.[0] ?? '';
    const picture = text.slice(erased.length);
    const placed = placing.exec(picture);
    this.#lines = picture.slice(0, placed?.index).split('\n');
    const row = this.#lines.length - 1 - Number(placed?.[1] ?? 0);
    this.#cursor = { row, column: Number(placed?.[2] ?? 1) - 1 };
    this.#write(this.#cleared ? picture : text);
    this.#cleared = false;
  }

  #write(text: string): void {
    this.#side.stream.write(text);
  }
}
