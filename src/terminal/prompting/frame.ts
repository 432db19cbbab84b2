/**
 * The stream between the prompt library and the terminal. It reports a width even where the terminal does not, holds back the
 * first picture until keys typed too early have been discarded, and keeps track of the picture's place when the window is resized.
 */
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { OutputSide } from '../sides.ts';
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
  readonly #side: OutputSide;
  readonly #widthOf: WidthOf;
  /** The picture that must not be shown yet. */
  #pendingText: string | undefined = '';
  /** The last picture of the prompt. */
  #picture = blank;
  /** What is on the screen: the picture, possibly with lines wrapped to fit, or nothing after the prompt was left. */
  #onScreen = blank;

  constructor(side: OutputSide, widthOf: WidthOf) {
    super();
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
    const pendingText = this.#pendingText;
    this.#pendingText = undefined;
    this.#draw(pendingText as string);
  }

  /** Redraws the last picture in its place, for prompts that cannot redraw themselves. */
  redraw(): void {
    const erasure = this.#eraseSequence();
    const { lines, row, column } = this.#picture;
    const above = lines.slice(0, row).flatMap((line) => this.#wrapLine(line));
    const wrapped = [...above, ...lines.slice(row).flatMap((line) => this.#wrapLine(line))];
    const rowIndex = Math.min(above.length + Math.floor(column / this.columns), wrapped.length - 1);
    this.#onScreen = { lines: wrapped, row: rowIndex, column: column % this.columns };
    const rowsUp = wrapped.length - 1 - rowIndex;
    this.#write(`${erasure}${wrapped.join('\n')}${rowsUp > 0 ? `\u001b[${rowsUp}A` : ''}\u001b[${this.#onScreen.column + 1}G`);
  }

  /** Leaves the picture where it is and moves the cursor below it. */
  leave(): void {
    const rowsDown = this.#onScreen.lines.length - 1 - this.#onScreen.row;
    this.#write(`${rowsDown > 0 ? `\u001b[${rowsDown}B` : ''}\r\n\u001b[?25h`);
    this.#onScreen = blank;
  }

  override _write(chunk: string | Buffer, _encoding: string, callback: () => void): void {
    const text = String(chunk);
    if (this.#pendingText === undefined) this.#draw(text);
    else if (!onlyPlacing.test(text)) this.#pendingText = text;
    callback();
  }

  #draw(text: string): void {
    const onlyPlacement = onlyPlacing.exec(text);
    if (onlyPlacement) {
      const column = Number(onlyPlacement[1]) - 1;
      this.#picture = { ...this.#picture, column };
      this.#onScreen = { ...this.#onScreen, column };
      this.#write(text);
      return;
    }
    const erasure = text.match(erasing)?.[0] ?? '';
    const visibleText = text.slice(erasure.length);
    this.#write(`${erasure === '' ? '' : this.#eraseSequence()}${visibleText}`);
    const placement = placing.exec(visibleText);
    const lines = visibleText.slice(0, placement?.index).split('\n');
    this.#picture = { lines, row: lines.length - 1 - Number(placement?.[1] ?? 0), column: Number(placement?.[2] ?? 1) - 1 };
    this.#onScreen = this.#picture;
  }

  /**
   * Erases what is on the screen, wherever its lines are now: a terminal that became narrower has wrapped them, which the
   * library does not know.
   */
  #eraseSequence(): string {
    if (this.#onScreen === blank) return '';
    const { lines, row, column } = this.#onScreen;
    const above = lines.slice(0, row).reduce((rows, line) => rows + this.#rowsOf(line), 0);
    const rowsUp = above + Math.floor(column / this.columns);
    return `${rowsUp > 0 ? `\u001b[${rowsUp}A` : ''}\r\u001b[J`;
  }

  /** A line in parts that fit. Terminals differ in what happens to lines that they wrapped themselves when they get wider again. */
  #wrapLine(line: string): string[] {
    const parts = [''];
    let width = 0;
    for (const token of line.split(sequences)) {
      for (const character of token.startsWith('\u001b') ? [token] : token) {
        const characterWidth = this.#widthOf(stripVTControlCharacters(character));
        if (width + characterWidth > this.columns) {
          parts.push('');
          width = 0;
        }
        parts.push(`${parts.pop()}${character}`);
        width += characterWidth;
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
