/** How a request names steps: by number, by what they do, by ID, or by a text in them. Pure. */
import { ordinalPattern, positionOf } from '../../../words/ordinals.ts';
import { markPattern, unmask } from '../../../words/quotes.ts';
import { restoreCase, type Statement } from '../../../words/statements.ts';
import type { StepKind } from '../schema.ts';

export type StepReference =
  /** A number in the original procedure; -1 is the last step. */
  | { by: 'number'; number: number }
  | { by: 'kind'; kind: StepKind; which: 'only' | 'all' | number }
  /** An ID, or a text in the step. */
  | { by: 'text'; text: string; kind?: StepKind }
  /** The step that was edited last. */
  | { by: 'last' }
  /** Words that do not name a step. */
  | { by: 'unclear'; words: string };

const nouns: readonly (readonly [StepKind, string])[] = [
  ['approve', 'approvals?|approve'],
  ['ask', 'questions?|ask'],
  ['exec', '(?:shell )?commands?|exec'],
  ['tool', 'tool calls?|tools?|calls?'],
  ['write', 'written files?|files?|writes?'],
  ['remember', 'memor(?:y|ies)|remembers?'],
  ['screenshot', 'screenshots?|pictures?'],
  ['browse', 'pages?|browse'],
  ['complete_case', 'complete_case|case completions?'],
  ['fail_case', 'fail_case|case failures?'],
  ['postpone_case', 'postpone_case|case postponements?'],
  ['create_case', 'create_case|new cases?'],
  ['sleep', 'waits?|sleeps?|pauses?'],
  ['fail', 'fail(?:ure)?s?'],
  ['say', 'messages?|says?|greetings?'],
];
const anyNoun = nouns.map(([, words]) => words).join('|');

const steps = /^steps\s+(.+)$/;
const range = /^(\d+)\s*(?:to|-|\u2013|through|until)\s*(\d+)$/;
const numberPattern = /^(?:step\s+)?(?:number\s+|no\.?\s+)?#?(\d+)$/;
const nth = new RegExp(`^(${ordinalPattern})\\s+(?:(step)|(${anyNoun})(?:\\s+step)?)$`);
const nthAlone = /^(last|first) (?:one)$/;
const allPattern = new RegExp(`^(?:all|both|every|each)(?:\\s+of)?(?:\\s+the)?\\s+(${anyNoun})(?:\\s+steps?)?$`);
const onlyPattern = new RegExp(`^(?:only\\s+)?(${anyNoun})(?:\\s+step)?$`);
const aboutPattern = new RegExp(
  `^(?:(?:step|(${anyNoun})(?:\\s+step)?)\\s+)?(?:called\\s+|named\\s+|with id\\s+|about\\s+|that says\\s+|of\\s+)?(?:${markPattern}|([a-z]\\w*))$`,
);
const pronounPattern = /^(?:it|that|this|that step|this step|(?:the )?new (?:step|one))$/;

/** The references in words, one for each step: several for lists and ranges. */
export function readReferences(words: string, statement: Statement): StepReference[] {
  const text = words.trim().replace(/^the\s+/, '');
  const list = steps.exec(text)?.[1];
  if (list !== undefined)
    return list.split(/\s*,\s*(?:and\s+)?|\s+and\s+/).flatMap((part) => rangeOf(part) ?? [readReference(part, statement)]);
  const span = rangeOf(text.replace(/^step\s+/, ''));
  const references = text.split(/\s*,\s*(?:and\s+)?|\s+and\s+/).map((part) => readReference(part, statement));
  return span ?? (references.every(({ by }) => by !== 'unclear') ? references : [readReference(text, statement)]);
}

function rangeOf(text: string): StepReference[] | undefined {
  const match = range.exec(text.trim());
  if (!match) return undefined;
  const [from, to] = [Number(match[1]), Number(match[2])];
  if (to < from || to - from > 1_000) return undefined;
  return Array.from({ length: to - from + 1 }, (_, index) => ({ by: 'number', number: from + index }));
}

/** The reference to the one step that words name. */
export function readReference(words: string, statement: Statement): StepReference {
  const text = words.trim().replace(/^the\s+/, '');
  if (pronounPattern.test(text)) return { by: 'last' };
  const number = numberPattern.exec(text)?.[1];
  if (number !== undefined) return { by: 'number', number: Number(number) };
  const ordinalMatch = nth.exec(text) ?? nthAlone.exec(text);
  if (ordinalMatch) {
    const place = positionOf(ordinalMatch[1] as string);
    const kind = ordinalMatch[3] === undefined ? undefined : kindOf(ordinalMatch[3]);
    return kind === undefined ? { by: 'number', number: place } : { by: 'kind', kind, which: place };
  }
  const allNoun = allPattern.exec(text)?.[1];
  if (allNoun !== undefined) return { by: 'kind', kind: kindOf(allNoun), which: 'all' };
  const single = onlyPattern.exec(text)?.[1];
  if (single !== undefined) return { by: 'kind', kind: kindOf(single), which: 'only' };
  const aboutMatch = aboutPattern.exec(text);
  if (aboutMatch) {
    const namedStep =
      aboutMatch[2] === undefined
        ? restoreCase(statement, aboutMatch[3] as string)
        : unmask(aboutMatch[0].slice(aboutMatch[0].indexOf('\uE000')), statement.quotes);
    return { by: 'text', text: namedStep, ...(aboutMatch[1] === undefined ? {} : { kind: kindOf(aboutMatch[1]) }) };
  }
  return { by: 'unclear', words: unmask(words.trim(), statement.quotes, true) };
}

const kindOf = (word: string): StepKind => nouns.find(([, words]) => new RegExp(`^(?:${words})$`).test(word))?.[0] ?? 'say';
