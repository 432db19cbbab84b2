/**
 * Where a prompt is drawn: between the library and the terminal. It says how wide the terminal is even where the terminal does
 * not, holds the first picture back until keys that were typed too early are gone, and knows where a picture is after a resize.
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
const sequences = /(\u001b\[[\d;?]*[A-Za-z])/;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above

/** The lines of a picture, and where the cursor is in them. */
interface Picture {
  lines: readonly string[];
  row: number;
  column: number;
}

const blank: Picture = { lines: [''], row: 0, column: 0 };

export class PromptFrame extends Writable {
  readonly isTTY = true;
  readonly #side: OutputSide;
  readonly #widthOf: WidthOf;
  /** The picture that is not to be shown yet. */
  #held: string | undefined = '';
  /** The last picture of the prompt. */
  #picture = blank;
  /** What is on the screen: the picture, possibly in lines that were broken to fit, or nothing since the prompt was left. */
  #shown = blank;

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

  /** Shows the last picture again, in its place, for a prompt that cannot be asked to draw itself. */
  redraw(): void {
    const erased = this.#erasing();
    const { lines, row, column } = this.#picture;
    const [above, below] = [lines.slice(0, row), lines.slice(row)].map((part) => part.flatMap((line) => this.#broken(line)));
    const shown = [...(above ?? []), ...(below ?? [])];
    const at = Math.min((above?.length ?? 0) + Math.floor(column / this.columns), shown.length - 1);
    this.#shown = { lines: shown, row: at, column: column % this.columns };
    const up = shown.length - 1 - at;
    this.#write(`${erased}${shown.join('\n')}${up > 0 ? `\u001b[${up}A` : ''}\u001b[${this.#shown.column + 1}G`);
  }

  /** Leaves the picture where it is, and goes on below it. */
  leave(): void {
    const down = this.#shown.lines.length - 1 - this.#shown.row;
    this.#write(`${down > 0 ? `\u001b[${down}B` : ''}\r\n\u001b[?25h`);
    this.#shown = blank;
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    const text = String(chunk);
    if (this.#held === undefined) this.#draw(text);
    else if (!onlyPlacing.test(text)) this.#held = text;
    done();
  }

  #draw(text: string): void {
    const moved = onlyPlacing.exec(text);
    if (moved) {
      const column = Number(moved[1]) - 1;
      this.#picture = { ...this.#picture, column };
      this.#shown = { ...this.#shown, column };
      this.#write(text);
      return;
    }
    const erased = text.match(erasing)?.[0] ?? '';
    const drawn = text.slice(erased.length);
    this.#write(`${erased === '' ? '' : this.#erasing()}${drawn}`);
    const placed = placing.exec(drawn);
    const lines = drawn.slice(0, placed?.index).split('\n');
    this.#picture = { lines, row: lines.length - 1 - Number(placed?.[1] ?? 0), column: Number(placed?.[2] ?? 1) - 1 };
    this.#shown = this.#picture;
  }

  /**
   * Erases what is on the screen, wherever its lines are now: a terminal that became narrower has broken them, which the library
   * does not know.
   */
  #erasing(): string {
    if (this.#shown === blank) return '';
    const { lines, row, column } = this.#shown;
    const above = lines.slice(0, row).reduce((rows, line) => rows + this.#rowsOf(line), 0);
    const up = above + Math.floor(column / this.columns);
    return `${up > 0 ? `\u001b[${up}A` : ''}\r\u001b[J`;
  }

  /** A line in parts that fit: terminals disagree on what becomes of the lines that they broke when they get wider again. */
  #broken(line: string): string[] {
    const parts = [''];
    let width = 0;
    for (const token of line.split(sequences)) {
      for (const character of token.startsWith('\u001b') ? [token] : token) {
        const more = this.#widthOf(stripVTControlCharacters(character));
        if (width + more > this.columns) {
          parts.push('');
          width = 0;
        }
        parts.push(`${parts.pop()}${character}`);
        width += more;
      }
    }
    return parts;
  }

  /** Rows of the terminal that a line takes. */
  #rowsOf(line: string): number {
    return Math.max(1, Math.ceil(this.#widthOf(stripVTControlCharacters(line)) / this.columns));
  }

  #write(text: string): void {
    this.#side.stream.write(text);
  }
}
