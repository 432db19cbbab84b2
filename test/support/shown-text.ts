/** Waits for what a program shows on a terminal. */
import { patience } from './time-limits.ts';

export class ShownText {
  readonly #read: () => string;
  /** How much of the text has been matched. */
  #matchedLength = 0;
  /** How the program has ended. */
  #end: string | undefined;
  #onChange: () => void = () => undefined;

  /** @param read returns the whole output without control sequences; redrawn text is repeated */
  constructor(read: () => string) {
    this.#read = read;
  }

  /** Call it after each output. */
  changed(): void {
    this.#onChange();
  }

  /** Call it when the program has ended. */
  ended(exitCode?: number): void {
    this.#end = exitCode === undefined ? 'It ended' : `It ended with exit code ${exitCode}`;
    this.#onChange();
  }

  /** Resolves when this is shown after the previous match. @throws Error if it does not appear, or the program ends first */
  async shows(pattern: string | RegExp): Promise<void> {
    const deadline = Date.now() + patience.outside;
    for (;;) {
      const unreadText = this.#read().slice(this.#matchedLength);
      const match =
        typeof pattern === 'string' ? { index: unreadText.indexOf(pattern), length: pattern.length } : matchOf(pattern, unreadText);
      if (match.index >= 0) {
        this.#matchedLength += match.index + match.length;
        return;
      }
      if (this.#end !== undefined || Date.now() > deadline)
        throw new Error(`${this.#end ?? 'It continued'} without showing ${pattern} in:\n${unreadText}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deadline - Date.now() + 1);
        this.#onChange = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Resolves when this prompt is shown and accepts keys: its last line then lists them. */
  async asks(pattern: string | RegExp): Promise<void> {
    await this.shows(pattern);
    await this.shows('⏎');
  }
}

function matchOf(pattern: RegExp, text: string): { index: number; length: number } {
  const match = pattern.exec(text);
  return match ? { index: match.index, length: match[0].length } : { index: -1, length: 0 };
}
