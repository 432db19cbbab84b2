/**
 * What a rubric demands, read from its description: a small language of English sentences (docs/evaluations.md). A sentence outside
 * that language is in `unclearClauses`; its meaning is never guessed. This is the offline fallback for a model that judges, and the language
 * does not grow. Pure.
 */
import { parseDuration } from '../../base/duration.ts';
import { markPattern, maskQuotes, type Quote, quoteAt, unmask } from '../words/quotes.ts';
import { normalize } from '../words/statements.ts';

export const severities = ['critical', 'medium', 'low'] as const;
export type Severity = (typeof severities)[number];

/** How a text is compared, ignoring case and line breaks. */
export type TextTest = { comparison: 'contains' | 'starts with' | 'ends with' | 'is'; text: string };

export type Check =
  | { kind: 'final_message'; test: TextTest; not: boolean }
  | { kind: 'any_message'; test: TextTest; not: boolean }
  | { kind: 'failed_calls'; atMost: number }
  | { kind: 'tool'; name: string; range: Range }
  | { kind: 'file' | 'memory_file'; path: string; expectation: 'exists' | 'empty' | TextTest; not: boolean }
  | { kind: 'duration'; milliseconds: number; bound: 'at most' | 'at least' }
  | { kind: 'person'; decision: 'approved' | 'denied' | 'was asked'; title: string | undefined; not: boolean }
  | { kind: 'outcome'; status: 'completed' | 'failed' | 'interrupted'; not: boolean };

/** A number of times, both ends included. */
export interface Range {
  min: number;
  max: number;
}

export interface Demand {
  severity: Severity;
  /** All of them must pass. */
  checks: Check[];
  /** Sentences outside the language. */
  unclearClauses: string[];
}

const finalMark = new RegExp(`${markPattern}$`);

/** Reads a description. */
export function readDemand(description: string): Demand {
  const quotes: Quote[] = [];
  const { severity, rest: sentences } = takeSeverity(maskQuotes(normalize(description), quotes, ['"', '\u201c']));
  const checks: Check[] = [];
  const unclearClauses: string[] = [];
  let previous = '';
  for (const clause of clausesOf(sentences)) {
    // `contains "A" and "B"`: the words before "A" also apply to "B".
    const sentence = quoteAt(clause, quotes) !== undefined && finalMark.test(previous) ? previous.replace(finalMark, clause) : clause;
    const check = readClause(sentence, quotes);
    if (check === undefined) unclearClauses.push(unmask(clause, quotes, true));
    else checks.push(check);
    previous = sentence;
  }
  return { severity, checks, unclearClauses };
}

function takeSeverity(text: string): { severity: Severity; rest: string } {
  const forms = [
    /^\s*(critical|medium|low)\s*[:.\u2013\u2014-]\s*/i,
    /\s*[([](critical|medium|low)(?: severity)?[)\]]\s*\.?\s*$/i,
    /(?:^|\s*)\bseverity\s*(?:is|:)\s*(critical|medium|low)\s*\.?\s*$/i,
  ];
  for (const form of forms) {
    const match = form.exec(text);
    if (match) return { severity: (match[1] as string).toLowerCase() as Severity, rest: text.replace(form, '') };
  }
  return { severity: 'medium', rest: text };
}

const clausesOf = (text: string): string[] =>
  text
    .split(/[.;!]+(?:\s+|$)|\s*;\s*|,?\s+and\s+|\n+/i)
    .map((clause) =>
      clause
        .trim()
        .replace(/^(?:and|also)\s+/i, '')
        .replace(/[,:]$/, '')
        .trim(),
    )
    .filter((clause) => clause !== '');

/** Spellings that are normalized before a clause is read. */
const spellings: readonly (readonly [RegExp, string])[] = [
  [/\b(does|did|is|was|were|must|should|has|have|do)n['\u2019]t\b/gi, '$1 not'],
  [/\bcannot\b|\bcan['\u2019]t\b/gi, 'can not'],
  [/\s+/g, ' '],
];

/** Matches words in any case and keeps the case of paths and names. */
const sentence = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`, 'i');

const quoteMark = markPattern;
const modal = '(?:(?:must|should|shall|has to|does|did|do|may|can) )?';
const textVerb = '(contains?|includes?|mentions?|says?|starts? with|begins? with|ends? with|is|be|equals?)';
const place = `(?:${markPattern}|([^\\s"\uE000]+))`;
const run = '(?:the run|the agent|a run|it)';
const count = '(\\d+|once|twice|one|two|three)';

type Reader = (match: RegExpExecArray, text: (index: string | undefined) => string) => Check | undefined;

const grammar: readonly (readonly [RegExp, Reader])[] = [
  [
    sentence(`(?:the |its )?(?:final|last) (?:message|answer|reply) ${modal}(not |never )?${textVerb} (not )?${quoteMark}`),
    ([, no, verb, no2, index], text) => ({
      kind: 'final_message',
      test: textTest(verb, text(index)),
      not: no !== undefined || no2 !== undefined,
    }),
  ],
  [
    sentence(`(some|a|any|one|no|the) messages? ${modal}(not |never )?${textVerb} (not )?${quoteMark}`),
    ([, which, no, verb, no2, index], text) => ({
      kind: 'any_message',
      test: textTest(verb, text(index)),
      not: /^no$/i.test(which as string) !== (no !== undefined || no2 !== undefined),
    }),
  ],
  [
    sentence('(?:no tool calls? (?:has |have |may |must )?fail(?:s|ed)?|(?:all|every) tool calls? (?:must )?succeed(?:s|ed)?)'),
    () => ({ kind: 'failed_calls', atMost: 0 }),
  ],
  [
    sentence(`(?:at most|no more than) ${count} tool calls? (?:may )?fail(?:s|ed)?`),
    ([, count]) => ({ kind: 'failed_calls', atMost: number(count) }),
  ],
  [
    sentence(
      `(?:the )?tool ${place} ${modal}(not |never )?(?:was|is|be) (not |never )?(?:called|used)(?: (at least |at most |exactly |only )?${count}(?: times?)?)?`,
    ),
    ([, index, word, no, no2, how, times], text) => {
      const range = timesCalled(no !== undefined || no2 !== undefined, how?.trim(), times);
      return range && { kind: 'tool', name: word ?? text(index), range };
    },
  ],
  [
    sentence(`(?:the |a )?(memory )?file ${place} (?:${modal}(not )?(exists?)|(?:${modal})(?:is|be) (not )?(empty|there))`),
    ([, memory, index, word, no, , no2, state], text) => ({
      kind: memory === undefined ? 'file' : 'memory_file',
      path: word ?? text(index),
      expectation: /^empty$/i.test(state ?? '') ? 'empty' : 'exists',
      not: no !== undefined || no2 !== undefined,
    }),
  ],
  [
    sentence(`(?:the |a )?(memory )?file ${place} ${modal}(not |never )?${textVerb} ${quoteMark}`),
    ([, memory, index, word, no, verb, content], text) => ({
      kind: memory === undefined ? 'file' : 'memory_file',
      path: word ?? text(index),
      expectation: textTest(verb, text(content)),
      not: no !== undefined,
    }),
  ],
  [
    sentence(
      `(?:${run} )?${modal}(?:took|takes?|lasts?|lasted) (less than|under|at most|no more than|more than|over|at least|longer than) (.+)`,
    ),
    ([, comparison, length]) =>
      durationCheck(length, /^(?:more|over|at least|longer)/i.test(comparison as string) ? 'at least' : 'at most'),
  ],
  [
    sentence(`(?:${run} )?${modal}(?:finish(?:es|ed)?|completed?s?|ends?|ended) (?:within|in less than|in under) (.+)`),
    ([, length]) => durationCheck(length, 'at most'),
  ],
  [
    sentence(
      `(a person|some ?body|some ?one|no person|nobody|no one) ${modal}(not )?(approved?s?|den(?:y|ies|ied)|(?:was|is|be) (?:not )?asked)(?: ${quoteMark})?`,
    ),
    ([, who, no, did, index], text) => ({
      kind: 'person',
      decision: /asked/i.test(did as string) ? 'was asked' : /^den/i.test(did as string) ? 'denied' : 'approved',
      title: index === undefined ? undefined : text(index),
      not: /^no/i.test(who as string) !== (no !== undefined || / not /i.test(did as string)),
    }),
  ],
  [
    sentence(
      `(?:the run|it|the agent) ${modal}(?:(?:has|was|is|be) )?(not |never )?(completed?s?|fail(?:s|ed)?|(?:be )?interrupted|(?:be )?stopped)`,
    ),
    ([, no, word]) => ({
      kind: 'outcome',
      status: /^complete/i.test(word as string) ? 'completed' : /^fail/i.test(word as string) ? 'failed' : 'interrupted',
      not: no !== undefined,
    }),
  ],
];

function readClause(clause: string, quotes: readonly Quote[]): Check | undefined {
  const standardClause = spellings.reduce((text, [from, to]) => text.replace(from, to), clause).trim();
  for (const [pattern, read] of grammar) {
    const match = pattern.exec(standardClause);
    if (match) return read(match, (index) => quotes[Number(index)]?.text ?? '');
  }
  return undefined;
}

function textTest(verb: string | undefined, text: string): TextTest {
  const word = (verb ?? '').toLowerCase();
  if (/^(start|begin)/.test(word)) return { comparison: 'starts with', text };
  if (/^end/.test(word)) return { comparison: 'ends with', text };
  return { comparison: /^(is|be|equal)/.test(word) ? 'is' : 'contains', text };
}

const words: Record<string, number> = { once: 1, one: 1, twice: 2, two: 2, three: 3 };
const number = (text: string | undefined): number => words[(text ?? '').toLowerCase()] ?? Number(text);

/** Undefined for `not called twice`, which is ambiguous. */
function timesCalled(not: boolean, how: string | undefined, times: string | undefined): Range | undefined {
  if (times === undefined) return not ? { min: 0, max: 0 } : { min: 1, max: Number.POSITIVE_INFINITY };
  if (not) return undefined;
  const count = number(times);
  const word = how?.toLowerCase();
  return { min: word === 'at most' ? 0 : count, max: word === 'at least' ? Number.POSITIVE_INFINITY : count };
}

const units: Record<string, string> = { second: 's', minute: 'm', hour: 'h', day: 'd' };

function durationCheck(text: string | undefined, bound: 'at most' | 'at least'): Check | undefined {
  const abbreviatedText = (text ?? '').replace(
    /(\d+(?:\.\d+)?) ?(second|minute|hour|day)s?/gi,
    (_, amount: string, unit: string) => `${amount}${units[unit.toLowerCase()]}`,
  );
  const milliseconds = parseDuration(abbreviatedText.replaceAll(' ', ''));
  return milliseconds === undefined ? undefined : { kind: 'duration', milliseconds, bound };
}
