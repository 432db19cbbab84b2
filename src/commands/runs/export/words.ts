/** Words that the forms of an export share. */
import { isObject } from '../../../base/values.ts';
import type { RecordHead } from '../../../cli/run-record/head.ts';
import type { TextEntry } from '../../../cli/run-record/timeline.ts';
import type { RecordedHumanRequest } from '../../../interface/types.ts';

/** Facts about a run that every form of an export lists below its status and its times; those that are unknown are missing. */
export function factsOf({
  agent,
  revision,
  program,
  usage,
  containment,
  case: workCase,
  report,
  evaluation,
  run,
}: RecordHead): [string, string][] {
  const facts: [string, string | null | undefined][] = [
    ['Agent', agent?.name ?? agent?.id],
    ['Revision', revision && `${revision.number ?? revision.id}${revision.name === null ? '' : ` (${revision.name})`}`],
    ['Runtime', revision?.runtime],
    ['Program', program && `${program.name} ${program.version}`.trim()],
    ['Mode', program?.mode],
    ['Permissions', program === null || program.asks === null ? null : program.asks ? 'asks before it acts' : 'decides by itself'],
    ['Commands', containment === null ? null : containment === 'contained' ? 'contained' : 'as the user of the service, without isolation'],
    ['Context', usage && `${usage.context_tokens.toLocaleString('en')} of ${usage.context_size.toLocaleString('en')} tokens`],
    ['Tool calls', report && String(report.calls)],
    ['Evaluation', evaluation && `${evaluation.passed} of ${evaluation.total} passed`],
    ['Case', workCase && (workCase.title ?? workCase.id)],
    ['Queue', workCase?.queue],
    ['Source', run.source],
  ];
  return facts.filter((each): each is [string, string] => typeof each[1] === 'string' && each[1] !== '');
}

/** `0.42 USD`; undefined if the agent did not report a cost. */
export const costText = ({ usage }: RecordHead): string | undefined =>
  usage?.cost ? `${usage.cost.amount} ${usage.cost.currency}` : undefined;

const titles: Record<TextEntry['kind'], string> = {
  message: 'Message',
  thought: 'Thought',
  plan: 'Plan',
  notice: 'Notice',
  answer: 'Answer',
};
export const entryTitle = ({ kind, by }: TextEntry): string =>
  kind === 'message' ? (by === 'agent' ? 'Agent' : by === 'person' ? 'Person' : 'System') : titles[kind];

export const requestState = ({ status }: RecordedHumanRequest): string =>
  status === 'answered' ? 'Answered:' : status === 'withdrawn' ? 'Withdrawn without an answer' : 'Waiting for an answer';

/** `by Local at 2026-11-23 03:56:38`; empty without an answer. */
export function answerText({ responded_at, responded_by }: RecordedHumanRequest): string {
  if (responded_at === null) return '';
  const by = responded_by === null ? '' : `by ${responded_by.name ?? responded_by.id} `;
  return `${by}at ${timeText(responded_at)}`;
}

/** `2026-11-23 03:56:38`, in UTC; what is not a time is unchanged. */
export function timeText(time: string): string {
  const milliseconds = Date.parse(time);
  if (!Number.isFinite(milliseconds)) return time;
  return new Date(milliseconds).toISOString().slice(0, 19).replace('T', ' ');
}

/** Texts in results that are easier to read outside of JSON. */
const readableFields = ['stdout', 'stderr', 'text'];

/** A value as titled texts: one as indented JSON, and one for each text in it that is easier to read by itself. Empty parts are left out. */
export function partsOf(title: string, value: unknown): [title: string, text: string][] {
  if (value === undefined || value === null || value === '') return [];
  if (typeof value === 'string') return [[title, value]];
  if (!isObject(value)) return [[title, pretty(value)]];
  const isReadable = ([name, text]: [string, unknown]): boolean => readableFields.includes(name) && typeof text === 'string';
  const fields = Object.entries(value);
  const rest = fields.filter((field) => !isReadable(field));
  const texts = fields.filter(isReadable).filter(([, text]) => text !== '') as [string, string][];
  return [...(rest.length === 0 ? [] : ([[title, pretty(Object.fromEntries(rest))]] as [string, string][])), ...texts];
}

const pretty = (value: unknown): string => JSON.stringify(value, null, 2) ?? String(value);

export type DiffLineKind = 'file' | 'range' | 'added' | 'removed' | 'same';

/** The lines of a diff with what each of them is. Only lines after the first range can be content. */
export function diffLines(diff: string): { kind: DiffLineKind; line: string }[] {
  let inHunk = false;
  return diff
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => {
      if (line.startsWith('diff --git ')) inHunk = false;
      if (line.startsWith('@@ ')) inHunk = true;
      return { kind: line.startsWith('@@ ') ? 'range' : inHunk ? contentKind(line) : 'file', line };
    });
}

const contentKind = (line: string): DiffLineKind => (line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same');

/** `+3 −1`: how many lines a diff adds and removes. */
export function diffCounts(lines: readonly { kind: DiffLineKind }[]): string {
  const count = (wanted: DiffLineKind): number => lines.filter(({ kind }) => kind === wanted).length;
  return `+${count('added')} −${count('removed')}`;
}
