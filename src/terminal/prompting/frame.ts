/**
 * The stream between the prompt library and the terminal. It reports a width even where the terminal does not, holds back the
 * first picture until keys typed too early have been discarded, and keeps track of the picture's place when the window is resized.
 */
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { OutputSide } from '../streams.ts';
import type { WidthOf } from '../width.ts';

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: it is about escape sequences
/** How @inquirer/core erases the previous picture: down below it, then line by line up to its beginning. */
const erasing = /^(?:\u001b\[\d+B)?\u001b\[2K(?:\u001b\[1A\u001b\[2K)*\u001b\[G/;
/** How @inquirer/core places the cursor after a picture: up by some lines, then to a column. */
const placing = /(?:\u001b\[(\d+)A)?\u001b\[(\d+)G$/;
const onlyPlacing = /^\u001b\[(\d+)G$/;
const sequences = /(\u001b\[[\d;?]*[A-Za-z])/;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above

/** The lines of a picture, and the position of the cursor in them. */
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
  /** The picture that must not be shown yet. */
  #held: string | undefined = '';
  /** The last picture of the prompt. */
  #picture = blank;
  /** What is on the screen: the picture, possibly with lines wrapped to fit, or nothing after the prompt was left. */
  #onScreen = blank;

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

  /** Shows the picture that was held back, and all later ones. */
  show(): void {
    const held = this.#held ?? '';
    this.#held = undefined;
    this.#draw(held);
  }

  /** Redraws the last picture in its place, for prompts that cannot redraw themselves. */
  redraw(): void {
    const erased = this.#erasing();
    const { lines, row, column } = this.#picture;
    const [above, below] = [lines.slice(0, row), lines.slice(row)].map((part) => part.flatMap((line) => this.#broken(line)));
    const wrapped = [...(above ?? []), ...(below ?? [])];
    const at = Math.min((above?.length ?? 0) + Math.floor(column / this.columns), wrapped.length - 1);
    this.#onScreen = { lines: wrapped, row: at, column: column % this.columns };
    const up = wrapped.length - 1 - at;
    this.#write(`${erased}${wrapped.join('\n')}${up > 0 ? `\u001b[${up}A` : ''}\u001b[${this.#onScreen.column + 1}G`);
  }

  /** Leaves the picture where it is and moves the cursor below it. */
  leave(): void {
    const down = this.#onScreen.lines.length - 1 - this.#onScreen.row;
    this.#write(`${down > 0 ? `\u001b[${down}B` : ''}\r\n\u001b[?25h`);
    this.#onScreen = blank;
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
      this.#onScreen = { ...this.#onScreen, column };
      this.#write(text);
      return;
    }
    const erased = text.match(erasing)?.[0] ?? '';
    const drawn = text.slice(erased.length);
    this.#write(`${erased === '' ? '' : this.#erasing()}${drawn}`);
    const placed = placing.exec(drawn);
    const lines = drawn.slice(0, placed?.index).split('\n');
    this.#picture = { lines, row: lines.length - 1 - Number(placed?.[1] ?? 0), column: Number(placed?.[2] ?? 1) - 1 };
    this.#onScreen = this.#picture;
  }

  /**
   * Erases what is on the screen, wherever its lines are now: a terminal that became narrower has wrapped them, which the
   * library does not know.
   */
  #erasing(): string {
    if (this.#onScreen === blank) return '';
    const { lines, row, column } = this.#onScreen;
    const above = lines.slice(0, row).reduce((rows, line) => rows + this.#rowsOf(line), 0);
    const up = above + Math.floor(column / this.columns);
    return `${up > 0 ? `\u001b[${up}A` : ''}\r\u001b[J`;
  }

  /** A line in parts that fit. Terminals differ in what happens to lines that they wrapped themselves when they get wider again. */
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

  /** The number of terminal rows that a line takes. */
  #rowsOf(line: string): number {
    return Math.max(1, Math.ceil(this.#widthOf(stripVTControlCharacters(line)) / this.columns));
  }

  #write(text: string): void {
    this.#side.stream.write(text);
  }
}
