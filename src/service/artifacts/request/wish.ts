/** What a request wants a part of a page to show. Each phrase that is understood is removed; a word that remains is unknown. */
import { parseMoment } from '../../../base/moment.ts';
import { markPattern } from '../../words/quotes.ts';
import { originalText, type Statement, textOf } from '../../words/statements.ts';
import type { Field, Period, SubjectName } from '../page.ts';
import { subjects } from '../subjects.ts';

export type FormWord = 'table' | 'list' | 'bars' | 'line' | 'chart' | 'pie' | 'number';

export interface Wish {
  subject?: SubjectName;
  form?: FormWord;
  by?: Field;
  period?: Period;
  type?: 'approval' | 'question';
  /** In the spelling of the request. */
  statuses?: string[];
  agent?: string;
  queue?: string;
}

export interface ReadWish {
  wish: Wish;
  /** Words that are not understood. */
  unknown: string[];
}

const counts: Record<string, number> = { one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, ten: 10, twelve: 12 };
const name = `(${markPattern}|[\\w.@-]+)`;
const forms: readonly [RegExp, FormWord][] = [
  [/\b(?:the )?(?:total )?(?:number|count) of\b|\bhow many\b|\btotal(?: of)?\b|\b(?:single |big )?number\b/, 'number'],
  [/\b(?:pie|donut|doughnut)(?:[ -](?:chart|graph|diagram))?s?\b/, 'pie'],
  [/\b(?:line|curve|trend)(?:[ -](?:chart|graph|diagram))?s?\b/, 'line'],
  [/\b(?:bar|column)s?(?:[ -](?:chart|graph|diagram))?s?\b/, 'bars'],
  [/\b(?:chart|graph|diagram|plot|histogram)s?\b/, 'chart'],
  [/\btables?\b/, 'table'],
  [/\blists?\b/, 'list'],
];
const statusWords = [...new Set(subjects.flatMap(({ statuses }) => Object.keys(statuses)))];
const filler = new Set(
  'a an the of with me us show shows showing add please and or in all for as page section part there are is was were my our team give make create draw display view report dashboard containing on to want need see put insert include build generate write their its only just than now new one ones out'.split(
    ' ',
  ),
);

/** Reads a wish. @param words of the statement, or a part of them */
export function readWish(statement: Statement, words = statement.words): ReadWish {
  const reader = new Reader(statement, words);
  const wish: Wish = {};
  reader.name('agent', (text) => {
    wish.agent = text;
  });
  reader.name('queue', (text) => {
    wish.queue = text;
  });
  readField(reader, wish);
  readPeriod(reader, wish);
  for (const [pattern, form] of forms) {
    if (wish.form === undefined && reader.take(pattern)) wish.form = form;
  }
  for (const { name: subject, phrase } of subjects) {
    if (wish.subject === undefined && reader.take(phrase)) wish.subject = subject;
  }
  readType(reader, wish);
  const statuses = statusWords.filter((word) => reader.take(new RegExp(`\\b${word}\\b`)));
  if (statuses.length > 0) wish.statuses = statuses.sort((a, b) => words.indexOf(a) - words.indexOf(b));
  return { wish, unknown: reader.unknownWords() };
}

class Reader {
  readonly #statement: Statement;
  #rest: string;

  constructor(statement: Statement, words: string) {
    this.#statement = statement;
    this.#rest = words;
  }

  /** Removes the first match of a phrase. An invalid phrase is not removed, so that its words are reported as unknown. */
  take(pattern: RegExp, isValid: (match: RegExpExecArray) => boolean = () => true): RegExpExecArray | undefined {
    const match = pattern.exec(this.#rest);
    if (match === null || !isValid(match)) return undefined;
    this.#rest = `${this.#rest.slice(0, match.index)} ${this.#rest.slice(match.index + match[0].length)}`;
    return match;
  }

  /** Removes `of agent "X"`. */
  name(kind: 'agent' | 'queue', use: (text: string) => void): void {
    const match =
      this.take(new RegExp(`\\b(?:of|for|from|in) (?:the )?${kind} ${name}`)) ?? this.take(new RegExp(`\\b${kind} (${markPattern})`));
    if (match) use(originalText(this.#statement, match[1] as string));
  }

  unknownWords(): string[] {
    const words = this.#rest
      .split(/[\s,:()?]+/)
      .flatMap((word) => (word === '' || filler.has(word) ? [] : [textOf(this.#statement, word)]));
    // In "by colour", only "colour" is unknown.
    const unknown = words.filter((word) => !/^(?:by|per|each)$/.test(word));
    return unknown.length === 0 ? words : unknown;
  }
}

function readField(reader: Reader, wish: Wish): void {
  const field = reader.take(
    /\b(?:(?:grouped|broken down|split|counted) )?(?:by|per|for each|for every|each) (?:the )?(status|agent|source|type|kind|event|priority|queue|hour|day|week|month)(?:e?s)?\b/,
  );
  if (field) wish.by = (field[1] === 'kind' ? 'type' : field[1]) as Field;
  else if (reader.take(/\bover time\b/)) wish.by = 'day';
  else {
    const adverb = reader.take(/\b(hourly|daily|weekly|monthly)\b/)?.[1];
    if (adverb) wish.by = adverb === 'daily' ? 'day' : (adverb.slice(0, -2) as Field);
  }
}

/** Human requests of one type have their own names: approvals and questions. */
function readType(reader: Reader, wish: Wish): void {
  if (wish.subject !== undefined && wish.subject !== 'requests') return;
  const type = reader.take(/\b(approval|question)s\b/)?.[1];
  if (type === undefined) return;
  wish.subject = 'requests';
  wish.type = type as 'approval';
}

function readPeriod(reader: Reader, wish: Wish): void {
  const last = reader.take(
    /\b(?:(?:of|in|from|over|within|for|during) )?(?:the )?(?:last|past|previous) (?:(\d{1,4}|one|two|three|four|five|six|seven|ten|twelve) )?(hour|day|week|month)s?\b/,
  );
  if (last) {
    const count = last[1] === undefined ? 1 : (counts[last[1]] ?? Number(last[1]));
    wish.period = { kind: 'last', count: Math.max(1, count), unit: last[2] as 'day' };
    return;
  }
  const span = reader.take(/\b(?:(?:of|in|from|for|during) )?this (week|month|year)\b/);
  const since = span ? undefined : reader.take(/\bsince (\d{4}-\d{2}-\d{2})\b/, ([, date]) => parseMoment(date as string, 0) !== undefined);
  if (span) wish.period = { kind: 'this', unit: span[1] as 'week' };
  else if (since) wish.period = { kind: 'since', date: since[1] as string };
  else if (reader.take(/\b(?:(?:of|from|for) )?today\b/)) wish.period = { kind: 'this', unit: 'day' };
  else if (reader.take(/\b(?:(?:of|from|for) )?yesterday\b/)) wish.period = { kind: 'yesterday' };
}
