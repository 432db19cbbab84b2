/** Lists of words in sentences. */

/** `a`, `a or b`, `a, b, or c`. */
export const wordList = (words: Iterable<string>, conjunction: 'and' | 'or'): string =>
  new Intl.ListFormat('en', { type: conjunction === 'or' ? 'disjunction' : 'conjunction' }).format(words);
