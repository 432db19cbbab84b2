/** A program on a pseudo-terminal: what it shows, and the keys that are sent to it. */
import { stripVTControlCharacters } from 'node:util';
import { type IPty, spawn } from '@lydell/node-pty';
import { ShownText } from './shown-text.ts';

/** Keys as a terminal sends them. */
export const keys = {
  enter: '\r',
  down: '\u001b[B',
  up: '\u001b[A',
  space: ' ',
  tab: '\t',
  ctrlC: '\u0003',
  ctrlD: '\u0004',
  ctrlZ: '\u001a',
  escape: '\u001b',
} as const;

/** The size of a screen, unless a test specifies another one. */
const defaultSize = { columns: 100, rows: 40 };

export interface ScreenSize {
  columns?: number;
  rows?: number;
}

interface ScreenOptions extends ScreenSize {
  cwd: string;
  env: Record<string, string>;
}

export class Screen {
  readonly exit: Promise<number>;
  readonly #pty: IPty;
  #raw = '';
  /** The output, and the changes of the window's width. */
  readonly #history: (string | { columns: number })[] = [];
  readonly #rowCount: number;
  readonly #shown = new ShownText(() => this.text);

  constructor(
    program: string,
    argv: readonly string[],
    { cwd, env, columns = defaultSize.columns, rows = defaultSize.rows }: ScreenOptions,
  ) {
    this.#rowCount = rows;
    this.#pty = spawn(program, [...argv], { name: 'xterm-256color', cols: columns, rows, cwd, env });
    this.#history.push({ columns });
    this.#pty.onData((data) => {
      this.#raw += data;
      this.#history.push(data);
      this.#shown.changed();
    });
    this.exit = new Promise((resolve) => {
      this.#pty.onExit(({ exitCode, signal }) => {
        const code = signal ? 128 + signal : exitCode;
        this.#shown.ended(code);
        resolve(code);
      });
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  /** The whole output, with control sequences. */
  get raw(): string {
    return this.#raw;
  }

  /** The whole output without control sequences; redrawn text is repeated. */
  get text(): string {
    return stripVTControlCharacters(this.#raw).replaceAll('\r', '');
  }

  /** The current rows of a terminal that rewraps lines when its window is resized. */
  async rows(): Promise<string[]> {
    return (await this.#buffer()).rows;
  }

  /** The rows that can be seen without scrolling back. */
  async visibleRows(): Promise<string[]> {
    const { rows, top } = await this.#buffer();
    return rows.slice(top);
  }

  async #buffer(): Promise<{ rows: string[]; top: number }> {
    const { default: xterm } = await import('@xterm/headless');
    const terminal = new xterm.Terminal({ rows: this.#rowCount, allowProposedApi: true });
    for (const step of this.#history) {
      if (typeof step === 'string') await new Promise<void>((resolve) => terminal.write(step, resolve));
      else terminal.resize(step.columns, this.#rowCount);
    }
    const { active } = terminal.buffer;
    const rows = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? '');
    const top = active.baseY;
    terminal.dispose();
    return { rows, top };
  }

  /** Changes the width of the window. */
  resize(columns: number): void {
    this.#history.push({ columns });
    this.#pty.resize(columns, this.#rowCount);
  }

  /** Resolves when this is shown after the previous match. @throws Error if it does not appear, or the program ends first */
  shows(pattern: string | RegExp): Promise<void> {
    return this.#shown.shows(pattern);
  }

  /** Resolves when this prompt is shown and accepts keys. */
  asks(pattern: string | RegExp): Promise<void> {
    return this.#shown.asks(pattern);
  }

  /** Sends keys or text. */
  type(...texts: string[]): void {
    for (const text of texts) this.#pty.write(text);
  }
}
