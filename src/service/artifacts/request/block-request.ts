/** What a request wants a part of a page to show. Each phrase that is understood is removed; a word that remains is unknown. */
import { parseMoment } from '../../../base/moment.ts';
import { markPattern } from '../../words/quotes.ts';
import { originalText, type Statement, textOf } from '../../words/statements.ts';
import type { Field, Period, SubjectName } from '../page.ts';
import { subjects } from '../subjects.ts';

export type FormWord = 'table' | 'list' | 'bars' | 'line' | 'chart' | 'pie' | 'number';

export interface BlockRequest {
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

export interface BlockRequestReading {
  blockRequest: BlockRequest;
  /** Words that are not understood. */
  unknownWords: string[];
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

/** Reads what a statement asks to display. @param words of the statement, or a part of them */
export function readBlockRequest(statement: Statement, words = statement.words): BlockRequestReading {
  const reader = new Reader(statement, words);
  const blockRequest: BlockRequest = {};
  reader.name('agent', (text) => {
    blockRequest.agent = text;
  });
  reader.name('queue', (text) => {
    blockRequest.queue = text;
  });
  readField(reader, blockRequest);
  readPeriod(reader, blockRequest);
  for (const [pattern, form] of forms) {
    if (blockRequest.form === undefined && reader.take(pattern)) blockRequest.form = form;
  }
  for (const { name: subject, phrase } of subjects) {
    if (blockRequest.subject === undefined && reader.take(phrase)) blockRequest.subject = subject;
  }
  readType(reader, blockRequest);
  const statuses = statusWords.filter((word) => reader.take(new RegExp(`\\b${word}\\b`)));
  if (statuses.length > 0) blockRequest.statuses = statuses.sort((a, b) => words.indexOf(a) - words.indexOf(b));
  return { blockRequest, unknownWords: reader.unknownWords() };
}

class Reader {
  readonly #statement: Statement;
  #remainingText: string;

  constructor(statement: Statement, words: string) {
    this.#statement = statement;
    this.#remainingText = words;
  }

  /** Removes the first match of a phrase. An invalid phrase is not removed, so that its words are reported as unknown. */
  take(pattern: RegExp, isValid: (match: RegExpExecArray) => boolean = () => true): RegExpExecArray | undefined {
    const match = pattern.exec(this.#remainingText);
    if (match === null || !isValid(match)) return undefined;
    this.#remainingText = `${this.#remainingText.slice(0, match.index)} ${this.#remainingText.slice(match.index + match[0].length)}`;
    return match;
  }

  /** Removes `of agent "X"`. */
  name(kind: 'agent' | 'queue', use: (text: string) => void): void {
    const match =
      this.take(new RegExp(`\\b(?:of|for|from|in) (?:the )?${kind} ${name}`)) ?? this.take(new RegExp(`\\b${kind} (${markPattern})`));
    if (match) use(originalText(this.#statement, match[1] as string));
  }

  unknownWords(): string[] {
    const words = this.#remainingText
      .split(/[\s,:()?]+/)
      .flatMap((word) => (word === '' || filler.has(word) ? [] : [textOf(this.#statement, word)]));
    // In "by colour", only "colour" is unknown.
    const unknown = words.filter((word) => !/^(?:by|per|each)$/.test(word));
    return unknown.length === 0 ? words : unknown;
  }
}

function readField(reader: Reader, blockRequest: BlockRequest): void {
  const field = reader.take(
    /\b(?:(?:grouped|broken down|split|counted) )?(?:by|per|for each|for every|each) (?:the )?(status|agent|source|type|kind|event|priority|queue|hour|day|week|month)(?:e?s)?\b/,
  );
  if (field) blockRequest.by = (field[1] === 'kind' ? 'type' : field[1]) as Field;
  else if (reader.take(/\bover time\b/)) blockRequest.by = 'day';
  else {
    const adverb = reader.take(/\b(hourly|daily|weekly|monthly)\b/)?.[1];
    if (adverb) blockRequest.by = adverb === 'daily' ? 'day' : (adverb.slice(0, -2) as Field);
  }
}

/** Human requests of one type have their own names: approvals and questions. */
function readType(reader: Reader, blockRequest: BlockRequest): void {
  if (blockRequest.subject !== undefined && blockRequest.subject !== 'requests') return;
  const type = reader.take(/\b(approval|question)s\b/)?.[1];
  if (type === undefined) return;
  blockRequest.subject = 'requests';
  blockRequest.type = type as 'approval';
}

function readPeriod(reader: Reader, blockRequest: BlockRequest): void {
  const last = reader.take(
    /\b(?:(?:of|in|from|over|within|for|during) )?(?:the )?(?:last|past|previous) (?:(\d{1,4}|one|two|three|four|five|six|seven|ten|twelve) )?(hour|day|week|month)s?\b/,
  );
  if (last) {
    const count = last[1] === undefined ? 1 : (counts[last[1]] ?? Number(last[1]));
    blockRequest.period = { kind: 'last', count: Math.max(1, count), unit: last[2] as 'day' };
    return;
  }
  const span = reader.take(/\b(?:(?:of|in|from|for|during) )?this (week|month|year)\b/);
  const since = span ? undefined : reader.take(/\bsince (\d{4}-\d{2}-\d{2})\b/, ([, date]) => parseMoment(date as string, 0) !== undefined);
  if (span) blockRequest.period = { kind: 'this', unit: span[1] as 'week' };
  else if (since) blockRequest.period = { kind: 'since', date: since[1] as string };
  else if (reader.take(/\b(?:(?:of|from|for) )?today\b/)) blockRequest.period = { kind: 'this', unit: 'day' };
  else if (reader.take(/\b(?:(?:of|from|for) )?yesterday\b/)) blockRequest.period = { kind: 'yesterday' };
}
