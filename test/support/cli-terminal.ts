/** A person at a terminal who uses the command line in this process: what is shown, and the keys that are pressed. */
import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { type CliOptions, type CliResult, runCli } from './run-cli.ts';
import { ShownText } from './shown-text.ts';

export class CliTerminal {
  /** What the command has printed when it has ended. */
  readonly end: Promise<CliResult>;
  readonly #keyboard = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  readonly #shown = new ShownText(() => stripVTControlCharacters(this.#notes).replaceAll('\r', ''));
  readonly #printed = new ShownText(() => this.#output);
  #notes = '';
  #output = '';
  /** Ctrl-C while no prompt reads the keys. */
  interrupt: () => void = () => undefined;

  constructor(argv: readonly string[], options: Pick<CliOptions, 'env' | 'cwd' | 'tty'>) {
    this.end = runCli(argv, {
      tty: true,
      ...options,
      env: { LANG: 'C.UTF-8', NO_COLOR: '1', ...options.env },
      stdin: this.#keyboard,
      columns: 100,
      onStart: (interrupt) => {
        this.interrupt = interrupt;
      },
      onOutput: (stdout, stderr) => {
        this.#output = stdout;
        this.#notes = stderr;
        this.#shown.changed();
        this.#printed.changed();
      },
    }).finally(() => {
      this.#shown.ended();
      this.#printed.ended();
    });
    this.end.catch(() => undefined);
  }

  /** Resolves when this is shown on stderr after the previous match. @throws Error if it does not appear */
  shows(pattern: string | RegExp): Promise<void> {
    return this.#shown.shows(pattern);
  }

  /** Resolves when this prompt is shown and accepts keys. */
  asks(pattern: string | RegExp): Promise<void> {
    return this.#shown.asks(pattern);
  }

  /** Resolves to everything on stdout when this has been printed there. @throws Error if it does not appear */
  async prints(pattern: string | RegExp): Promise<string> {
    await this.#printed.shows(pattern);
    return this.#output;
  }

  /** Presses keys; see `keys` in screen.ts. */
  type(...texts: string[]): void {
    for (const text of texts) this.#keyboard.write(text);
  }
}
