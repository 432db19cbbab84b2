/** Breaks the lines of Markdown. Pure. */

const maxColumns = 120;

/** Prose in lines of at most 120 columns. Tables, code, headings, and comments stay unchanged; code spans are not broken. */
export function wrapBlock(block: string): string {
  if (/^(?:```|[|#<])/.test(block)) return block;
  const lines: string[] = [];
  for (const word of words(block)) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > maxColumns) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join('\n');
}

/** The parts of a text between which a line can end. A dash or a number never begins a line, because that would begin a list. */
const words = (text: string): string[] =>
  text.match(/(?:`[^`]*`|\S)+(?:\s+(?:[-*+]|\d+\.)(?=\s))*/g)?.map((word) => word.replace(/\s+/g, ' ')) ?? [];
