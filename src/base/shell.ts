/** Quoting for commands that a person is meant to paste. */

/** Quoted for a POSIX shell. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Quoted for a POSIX shell only where that is necessary. */
export const shellWord = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : shellQuoted(text));

/** Characters that mean something else to a shell than themselves, outside of quotes. */
const operators = /[|&;<>()\n]/;

/**
 * Splits a command into words like a POSIX shell (POSIX.1-2017, 2.2), without expanding anything.
 * @param placeholders whether `$1` to `$9` are part of a word, for the caller to replace
 * @throws Error for a command that only a shell can execute; its message completes "The command ..."
 */
export function splitWords(command: string, { placeholders = false } = {}): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let index = 0; index < command.length; index++) {
    const character = command[index] as string;
    if (quote === "'") {
      if (character === "'") quote = undefined;
      else word += character;
    } else if (character === '\\') {
      const next = command[++index];
      if (next === undefined) throw new Error('ends with a backslash');
      // In double quotes, a backslash escapes only these characters.
      word = (word ?? '') + (quote === undefined || '$`"\\'.includes(next) ? next : `\\${next}`);
    } else if (placeholders && quote !== "'" && /^\$[1-9]/.test(command.slice(index, index + 2))) {
      word = (word ?? '') + character;
    } else if (character === '$' || character === '`') {
      throw new Error(`contains ${character}, which only a shell expands; put it in single quotes if you mean the character`);
    } else if (quote === '"') {
      if (character === '"') quote = undefined;
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (operators.test(character)) {
      throw new Error(`contains ${JSON.stringify(character)}, which only a shell understands; quote it if you mean the character`);
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + character;
  }
  if (quote !== undefined) throw new Error(`lacks a closing ${quote}`);
  return word === undefined ? words : [...words, word];
}
