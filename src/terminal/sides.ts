/** The two sides of the terminal, what is typed and what is displayed, with the capabilities of their streams. */
import type { Readable, Writable } from 'node:stream';
import { type ColorMode, columnsOf, type Environment, supportsLinks, supportsUnicode, wantsColor } from './capabilities.ts';
import { loadStyles, type Styles } from './style.ts';

export type InputStream = Readable & { isTTY?: boolean };
export type OutputStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };

/** One output stream and its capabilities. */
export class OutputSide {
  readonly stream: OutputStream;
  readonly #env: Environment;
  #colorMode: ColorMode = 'auto';
  #styles: Promise<Styles> | undefined;

  constructor(stream: OutputStream, env: Environment) {
    this.stream = stream;
    this.#env = env;
    if (stream.isTTY) guardColumns(stream, env);
  }

  get isTTY(): boolean {
    return this.stream.isTTY === true;
  }

  /** Current number of columns; it changes when the window is resized. */
  get columns(): number {
    return columnsOf(this.stream, this.#env);
  }

  /** Current number of rows; undefined without a terminal, or when the terminal does not report it. */
  get rows(): number | undefined {
    return this.stream.rows || undefined;
  }

  get color(): boolean {
    return wantsColor(this.#colorMode, this.isTTY, this.#env);
  }

  /** Whether characters beyond ASCII may be used for drawing. */
  get unicode(): boolean {
    return supportsUnicode(this.#env);
  }

  /** Whether hyperlinks are supported. */
  get links(): boolean {
    return supportsLinks(this.isTTY, this.#env);
  }

  setColor(mode: ColorMode): void {
    this.#colorMode = mode;
    this.#styles = undefined;
  }

  /** Styles for this stream. */
  styles(): Promise<Styles> {
    this.#styles ??= loadStyles(this.color);
    return this.#styles;
  }
}

/** Standard input, which is opened when a property is first read. */
export class InputSide {
  readonly #streams: { readonly stdin: InputStream };

  constructor(streams: { readonly stdin: InputStream }) {
    this.#streams = streams;
  }

  get stream(): InputStream {
    return this.#streams.stdin;
  }

  get isTTY(): boolean {
    return this.stream.isTTY === true;
  }
}

/**
 * Makes the stream report a usable width even where the terminal reports 0, as a pseudo-terminal does until it is given a size.
 * Libraries that draw on the stream divide by that number.
 */
function guardColumns(stream: OutputStream, env: Environment): void {
  let { columns } = stream;
  Object.defineProperty(stream, 'columns', {
    configurable: true,
    get: () => columnsOf({ columns }, env),
    set: (value: number | undefined) => {
      columns = value;
    },
  });
}
