/** Splits the output of a command into lines, and limits it: while a prompt is on the screen, its lines wait in memory. */
import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** The longest line, and the most output of one command, in characters. */
const maxLine = 4_000;
const maxOutput = 64_000;

export class OutputLines {
  readonly #onLine: (line: string) => void;
  readonly #rests = new Map<Readable, string>();
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
    for (const stream of [...this.#rests.keys()]) this.#flush(stream);
  }

  #add(stream: Readable, text: string): void {
    const lines = `${this.#rests.get(stream) ?? ''}${text}`.split(/\r?\n/);
    const rest = lines.pop() as string;
    for (const line of lines) this.#print(line);
    // A line that is too long is continued on the next one.
    if (rest.length >= maxLine) this.#print(rest);
    this.#rests.set(stream, rest.length >= maxLine ? '' : rest);
  }

  #flush(stream: Readable): void {
    const rest = this.#rests.get(stream);
    this.#rests.delete(stream);
    if (rest) this.#print(rest);
  }

  #print(line: string): void {
    if (this.#length > maxOutput) return;
    this.#length += line.length + 1;
    this.#onLine(this.#length > maxOutput ? '… (the rest of the output is not shown)' : line);
  }
}
