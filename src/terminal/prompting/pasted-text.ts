/** Separates pasted text from keys in what a terminal sends: with bracketed paste on, it marks where pasted text begins and ends. */

/** Switch bracketed paste on and off (xterm control sequences, "Bracketed Paste Mode"). */
export const pasteOn = '\u001b[?2004h';
export const pasteOff = '\u001b[?2004l';

const begin = '\u001b[200~';
const end = '\u001b[201~';

export type Typed = { keys: string } | { pasted: string };

/** Reads input piece by piece; a mark may be split between two pieces. */
export class PasteReader {
  #pasting = false;
  #rest = '';
  #pasted = '';

  /** What this piece of input completes, in the order it was sent. */
  read(text: string): Typed[] {
    const found: Typed[] = [];
    let left = this.#rest + text;
    this.#rest = '';
    for (;;) {
      const mark = this.#pasting ? end : begin;
      const at = left.indexOf(mark);
      const before = at < 0 ? left.slice(0, left.length - startOfMark(left, mark, this.#pasting ? 1 : 3)) : left.slice(0, at);
      if (this.#pasting) this.#pasted += before;
      else if (before !== '') found.push({ keys: before });
      if (at < 0) {
        this.#rest = left.slice(before.length);
        return found;
      }
      if (this.#pasting) {
        found.push({ pasted: plainLines(this.#pasted) });
        this.#pasted = '';
      }
      this.#pasting = !this.#pasting;
      left = left.slice(at + mark.length);
    }
  }
}

/**
 * How much of the end of the text may be the beginning of the mark.
 * @param least the length from which on it cannot be a key: Escape by itself is one, and so is Escape with `[`
 */
function startOfMark(text: string, mark: string, least: number): number {
  for (let length = mark.length - 1; length >= least; length -= 1) if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}

/** Pasted text as an answer holds it: line feeds between lines, and no other control characters than tabs. */
export const plainLines = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  text.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');

/**
 * Whether keys that arrived together must have been pasted into a terminal without bracketed paste: text goes on after a line
 * end. Nobody types that fast, and if it was typed while this process was busy, sending the text still takes another Enter.
 */
export const looksPasted = (keys: string): boolean => /[\r\n]+[\P{Cc}\t]/u.test(keys);
