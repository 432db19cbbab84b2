/** Splits the output of a command into lines, and limits it: while a prompt is on the screen, its lines wait in memory. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Maximum length of a line, and of the output of one command, in characters. */
const maxLineLength = 4_000;
const maxOutputLength = 64_000;

export class OutputLines {
  readonly #onLine: (line: string) => void;
  readonly #incompleteLines = new Map<Readable, string>();
  #length = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Reads a stream. Resolves at its end. */
  read(stream: Readable): Promise<void> {
    const decoder = new StringDecoder('utf8');
    return new Promise((resolve) => {
      stream.on('data', (chunk: Buffer) => this.#add(stream, decoder.write(chunk)));
      stream.once('close', () => {
        this.#flush(stream);
        resolve();
      });
      stream.once('error', () => undefined);
    });
  }

  /** Passes on what is not followed by a line break. */
  end(): void {
    for (const stream of [...this.#incompleteLines.keys()]) this.#flush(stream);
  }

  #add(stream: Readable, text: string): void {
    const lines = `${this.#incompleteLines.get(stream) ?? ''}${text}`.split(/\r?\n/);
    const rest = lines.pop() as string;
    for (const line of lines) this.#print(line);
    // A line that is too long is continued on the next one.
    if (rest.length >= maxLineLength) this.#print(rest);
    this.#incompleteLines.set(stream, rest.length >= maxLineLength ? '' : rest);
  }

  #flush(stream: Readable): void {
    const rest = this.#incompleteLines.get(stream);
    this.#incompleteLines.delete(stream);
    if (rest) this.#print(rest);
  }

  #print(line: string): void {
    if (this.#length > maxOutputLength) return;
    this.#length += line.length + 1;
    this.#onLine(this.#length > maxOutputLength ? '… (the rest of the output is not shown)' : line);
  }
}
