/** Phrases that are not plain English, and what to write instead. Pure. */

/**
 * phrases-ignore: A phrase as a pattern, in which a space matches any white space, and the words to use instead.
 * @type {readonly { pattern: string, instead: string }[]}
 */
export const phrases = [
  { pattern: 'is there twice', instead: 'appears twice' },
  { pattern: '(?<!(?:if|when|why) )there (?:is|are|was|were) none', instead: 'there are no ... (name the thing)' },
  { pattern: '(?<!there )is none', instead: 'is not a ...' },
  { pattern: '(?:for|to) who', instead: 'for whoever, to the client that' },
  { pattern: 'so many(?! \\w+ that)', instead: 'this many, the number of' },
  { pattern: 'beside', instead: 'next to, besides, in addition to' },
  { pattern: '(?:is|are|was|were) told as', instead: 'is reported as' },
  { pattern: '(?:tells?|told|telling) of', instead: 'reports, is informed of' },
  { pattern: '(?:is|are) the most(?=[ ]*[.,;:)`\'"])', instead: 'at most' },
  { pattern: 'at the most', instead: 'at most' },
  { pattern: '(?<!there )is no [a-z]+ of', instead: 'is not a ...' },
  {
    pattern: '(?<!(?:stays?|stayed|(?:leaves?|left)(?: it| them)?) )as (?:it is|it was|they are|they were)(?=[ ]*(?:[.,;:)`\'"]|$))',
    instead: 'unchanged',
  },
  { pattern: 'under way', instead: 'in progress' },
  { pattern: 'whose turn', instead: 'the next ...' },
  { pattern: 'what is left of', instead: 'the rest of, the remaining' },
  { pattern: 'where there is one', instead: 'if any' },
  { pattern: 'stands? (?:in(?! for)|on|at|there|alone)', instead: 'is in, is on' },
  { pattern: '(?<!instead )of now', instead: 'current' },
];

const compiledPhrases = phrases.map(({ pattern, instead }) => ({
  // Between two words there may be the end of a line and the beginning of the next one in a comment or a quote.
  regex: new RegExp(`(?<![\\w-])(?:${pattern.replaceAll(/(?<!\[) (?!\])/g, '\\s+(?:(?:\\*|//|#|>)\\s+)?')})(?![\\w-])`, 'gim'),
  instead,
}));

/** Permits a quotation: it covers the lines from this comment to the next empty one. */
const quotation = /phrases-ignore/;

/**
 * The phrases in a text, in order; `line` counts from 1.
 * @param {string} text
 * @returns {{ line: number, phrase: string, instead: string }[]}
 */
export function findPhrases(text) {
  const skippedLines = ignoredLines(text);
  const problems = compiledPhrases.flatMap(({ regex, instead }) =>
    [...text.matchAll(regex)].map((match) => ({
      line: lineAt(text, match.index),
      phrase: match[0].replaceAll(/\s+(?:(?:\*|\/\/|#|>)\s+)?/g, ' '),
      instead,
    })),
  );
  return problems.filter(({ line }) => !skippedLines.has(line)).sort((first, second) => first.line - second.line);
}

/** @param {string} text @param {number} index */
const lineAt = (text, index) => text.slice(0, index).split('\n').length;

/** @param {string} text */
function ignoredLines(text) {
  const lineNumbers = new Set();
  let ignoring = false;
  for (const [index, line] of text.split('\n').entries()) {
    ignoring = quotation.test(line) || (ignoring && line.trim() !== '');
    if (ignoring) lineNumbers.add(index + 1);
  }
  return lineNumbers;
}
