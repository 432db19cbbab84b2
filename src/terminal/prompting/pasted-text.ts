/** Separates pasted text from keys in terminal input: with bracketed paste on, the terminal marks the start and end of pasted text. */

/** Switch bracketed paste on and off (xterm control sequences, "Bracketed Paste Mode"). */
export const pasteOn = '\u001b[?2004h';
export const pasteOff = '\u001b[?2004l';

const pasteStart = '\u001b[200~';
const end = '\u001b[201~';

export type TypedInput = { keys: string } | { pasted: string };

/** Reads input chunk by chunk; a mark may be split between two chunks. */
export class PasteReader {
  #isPasting = false;
  #remainingInput = '';
  #pastedText = '';

  /** The keys and pasted texts that this chunk of input completes, in order. */
  read(text: string): TypedInput[] {
    const inputs: TypedInput[] = [];
    let remaining = this.#remainingInput + text;
    for (;;) {
      const mark = this.#isPasting ? end : pasteStart;
      const position = remaining.indexOf(mark);
      const before =
        position < 0
          ? remaining.slice(0, remaining.length - startOfMark(remaining, mark, this.#isPasting ? 1 : 3))
          : remaining.slice(0, position);
      if (this.#isPasting) this.#pastedText += before;
      else if (before !== '') inputs.push({ keys: before });
      if (position < 0) {
        this.#remainingInput = remaining.slice(before.length);
        return inputs;
      }
      if (this.#isPasting) {
        inputs.push({ pasted: plainLines(this.#pastedText) });
        this.#pastedText = '';
      }
      this.#isPasting = !this.#isPasting;
      remaining = remaining.slice(position + mark.length);
    }
  }
}

/**
 * The length of the text's end that may be the beginning of the mark.
 * @param minimum the shortest length that cannot be a key: Escape alone is a key, and so is Escape followed by `[`
 */
function startOfMark(text: string, mark: string, minimum: number): number {
  for (let length = mark.length - 1; length >= minimum; length -= 1) if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}

/** Pasted text as an answer: line feeds between lines, and no other control characters except tabs. */
export const plainLines = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  text.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');

/**
 * Whether keys that arrived together must have been pasted into a terminal without bracketed paste: text follows a line end.
 * Nobody types that fast; and if the text was typed while this process was busy, sending it still takes another Enter.
 */
export const isProbablyPaste = (keys: string): boolean => /[\r\n]+[\P{Cc}\t]/u.test(keys);
