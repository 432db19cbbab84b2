/**
 * The whole terminal as one picture, on the alternate screen: what was on the screen before is there again afterwards, however the
 * process ends. Only lines that changed are written. Keys that were typed before the first picture was drawn are discarded.
 */
import type { Clock } from '../base/clock.ts';
import { Keyboard } from './prompting/keyboard.ts';
import { pasteOff, pasteOn } from './prompting/pasted-text.ts';
import type { Terminal } from './streams.ts';
import { resolveMarkup } from './style.ts';

// xterm control sequences: alternate screen, cursor, wrapping at the right margin, synchronised update.
const enterSequence = `\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J${pasteOn}`;
const leaveSequence = `${pasteOff}\u001b[?7h\u001b[?25h\u001b[?1049l`;
const beginUpdate = '\u001b[?2026h';
const endUpdate = '\u001b[?2026l';

export interface FullScreenListener {
  /** A key as the terminal sends it, such as `\r` or `ESC [ A`. */
  onKey(key: string): void;
  /** The window was resized, or the screen must be drawn again for another reason. */
  onResize(): void;
  /** Ctrl-C was pressed, or the terminal was closed. */
  onCancel(): void;
}

/** The size of a terminal that does not report it. */
const defaultRows = 24;
/** Keys, and sequences of characters that stand for one key. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about escape sequences
const keyForm = /\u001b(?:\[[\d;]*[A-Za-z~]|O[A-Za-z])|[\s\S]/gu;

export class FullScreen {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #listener: FullScreenListener;
  #keyboard: Keyboard | undefined;
  /** What each row of the screen shows. */
  #shownLines: string[] = [];
  #undo: (() => void)[] = [];
  #isOpen = false;

  constructor(terminal: Terminal, clock: Clock, listener: FullScreenListener) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#listener = listener;
  }

  /** Whether the screen belongs to this picture at the moment. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  get size(): { columns: number; rows: number } {
    const { columns, rows = defaultRows } = this.#terminal.err;
    return { columns, rows };
  }

  /** Takes over the terminal and draws the first picture. Resolves when keys count. */
  async open(lines: readonly string[]): Promise<void> {
    const { err, jobs } = this.#terminal;
    this.#isOpen = true;
    this.#undo.push(this.#terminal.reserveForPrompt());
    const keyboard = new Keyboard(this.#terminal.in.stream, this.#clock, {
      onCancel: () => this.#listener.onCancel(),
      onSuspend: () => this.#suspend(),
      onChange: () => undefined,
    });
    this.#keyboard = keyboard;
    keyboard.open();
    this.#undo.push(() => keyboard.close());
    this.#write(enterSequence);
    this.#undo.push(() => this.#write(leaveSequence));
    const onResize = (): void => {
      this.#shownLines = [];
      this.#write('\u001b[2J');
      this.#listener.onResize();
    };
    err.stream.on('resize', onResize);
    this.#undo.push(() => err.stream.removeListener('resize', onResize));
    if (jobs) this.#undo.push(jobs.onContinue(() => void this.#continue()));
    // The terminal must not stay like this, however this process ends.
    if (jobs) this.#undo.push(jobs.onExit(() => this.#write(leaveSequence)));
    this.draw(lines);
    keyboard.input.on('data', (chunk: Buffer | string) => this.#onInput(String(chunk)));
    await this.#listen();
  }

  /** Shows these lines, which must fit the width. Rows below the last one are empty. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    let changes = '';
    for (let row = 0; row < this.size.rows; row += 1) {
      const line = lines[row] ?? '';
      if (line === this.#shownLines[row]) continue;
      this.#shownLines[row] = line;
      // Erased first: after a line that fills the width, terminals would erase its last character.
      changes += `\u001b[${row + 1};1H\u001b[K${resolveMarkup(line)}`;
    }
    if (changes !== '') this.#write(`${beginUpdate}${changes}${endUpdate}`);
  }

  /** Leaves the alternate screen and releases the terminal. Safe to call twice. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
    this.#shownLines = [];
    this.#keyboard = undefined;
  }

  #onInput(text: string): void {
    for (const [key] of text.matchAll(keyForm)) if (this.#isOpen) this.#listener.onKey(key);
  }

  async #listen(): Promise<void> {
    const keyboard = this.#keyboard;
    await keyboard?.drain();
    if (keyboard === this.#keyboard) keyboard?.listen(false);
  }

  /** Stops this process, as Ctrl-Z does when the terminal is not in raw mode. */
  #suspend(): void {
    const { jobs } = this.#terminal;
    if (!jobs?.stop) return;
    this.#write(leaveSequence);
    this.#keyboard?.pause();
    jobs.stop();
    // A process that could not be continued by a shell is not stopped, and then gets no signal to continue.
    setImmediate(() => void this.#continue());
  }

  /** After `fg`. The shell has changed the terminal's settings, so they are all set again. */
  async #continue(): Promise<void> {
    if (!this.#isOpen) return;
    this.#keyboard?.pause();
    this.#keyboard?.open();
    this.#shownLines = [];
    this.#write(enterSequence);
    this.#listener.onResize();
    await this.#listen();
  }

  #write(text: string): void {
    this.#terminal.err.stream.write(text);
  }
}
