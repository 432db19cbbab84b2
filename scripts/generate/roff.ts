/** Small pieces of roff with the man macros (man(7)). These functions escape text and return roff. */

/** Text in the font of the page, in which backslashes, hyphens, and quotes appear literally. */
export const roman = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll('"', '\\(dq')
    .replace(/\s*\n\s*/g, ' ');

export const bold = (text: string): string => `\\fB${roman(text)}\\fR`;

const sourceWidth = 78;

/** Text on source lines of a moderate length. A line that would begin with a control character gets a zero-width character in front. */
export function lines(text: string): string {
  const filledLines: string[] = [];
  for (const word of text.split(' ')) {
    const line = filledLines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= sourceWidth) filledLines[filledLines.length - 1] = `${line} ${word}`;
    else filledLines.push(word);
  }
  return filledLines.map((line) => `${/^[.']/.test(line) ? '\\&' : ''}${line}\n`).join('');
}

/** A page without paragraph macros directly after a section. */
export const tidy = (text: string): string => text.replaceAll(/(\.SH [^\n]*\n)\.PP\n/g, '$1');

export const paragraph = (text: string): string => `.PP\n${lines(roman(text))}`;

export const section = (name: string): string => `.SH ${roman(name)}\n`;

/** A word and its meaning, indented. Both are already escaped. */
export const entry = (word: string, meaning: string): string => `.TP\n${lines(word)}${lines(meaning)}`;

export const note = (text: string): string => `.\\" ${text}\n`;

/** The head of a page. Lines are not justified, because lines with long words would get gaps or cause warnings. */
export const title = (name: string, number: number, date: string, source: string): string =>
  `.TH ${roman(name.toUpperCase())} ${number} ${date} "${source}" "aops manual"\n.ad l\n`;
