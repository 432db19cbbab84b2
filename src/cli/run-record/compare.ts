/** What differs between two runs: their inputs, their outcomes, and the steps where they diverged. Pure. */
import { diffArrays } from 'diff';
import type { RecordedHumanRequest } from '../../interface/types.ts';
import { type ConfigChange, configChanges } from '../records/config-changes.ts';
import type { ComparableStep, RunDigest, Step } from './digest.ts';
import type { RecordHead } from './head.ts';
import type { RunRecord } from './read.ts';
import type { FileRecord } from './sandbox-files.ts';

/** Everything about a run that is compared. */
export interface ComparedRun {
  record: RunRecord;
  head: RecordHead;
  digest: RunDigest;
}

/** A fact that differs. Null stands for what does not exist, or is not known. */
export interface FieldChange {
  name: string;
  before: string | number | boolean | null;
  after: string | number | boolean | null;
}

type FieldValue = FieldChange['before'];

/** What a run was given and how it ended, without what always differs, such as times. */
const fields: readonly [name: string, value: (run: ComparedRun) => FieldValue][] = [
  ['status', ({ head }) => head.run.status],
  ['error', ({ head }) => head.run.error],
  ['agent', ({ head }) => head.agent && (head.agent.name ?? head.agent.id)],
  ['revision', ({ head }) => head.revision && (head.revision.number ?? head.revision.id)],
  ['message', ({ digest }) => digest.firstMessage],
  ['case', ({ head }) => head.case && (head.case.title ?? head.case.id)],
  ['source', ({ head }) => head.run.source],
  ['program', ({ head }) => head.program && `${head.program.name} ${head.program.version}`.trim()],
  ['mode', ({ head }) => head.program?.mode ?? null],
  ['asks_before_acting', ({ head }) => head.program?.asks ?? null],
  ['containment', ({ head }) => head.containment],
  ['connections', ({ record }) => connectionsOf(record)],
  ['evaluation', ({ head }) => head.evaluation && `${head.evaluation.passed} of ${head.evaluation.total} passed`],
];

/** What was different before the run began, and can therefore be a reason for another outcome. */
export const inputFields: readonly string[] = [
  'agent',
  'revision',
  'message',
  'case',
  'source',
  'program',
  'mode',
  'asks_before_acting',
  'containment',
  'connections',
];

/** How much was used, which differs between any two runs. */
const usageFields: readonly [name: string, value: (run: ComparedRun) => FieldValue][] = [
  ['duration_milliseconds', ({ head }) => head.run.duration_milliseconds],
  ['tool_calls', ({ digest }) => digest.steps.filter(({ kind }) => kind === 'tool').length],
  ['failed_calls', ({ digest }) => digest.steps.filter(({ kind, status }) => kind === 'tool' && status === 'failed').length],
  ['human_requests', ({ digest }) => digest.steps.filter(({ kind }) => kind === 'request').length],
  ['context_tokens', ({ head }) => head.usage?.context_tokens ?? null],
  ['cost', ({ head }) => (head.usage?.cost ? `${head.usage.cost.amount} ${head.usage.cost.currency}` : null)],
];

function connectionsOf({ detail }: RunRecord): string | null {
  const names = (detail?.integrationInstances ?? []).map((instance) => String(instance.name ?? instance.provider ?? instance.id));
  return names.length === 0 ? null : names.sort().join(', ');
}

const changesOf = (list: typeof fields, before: ComparedRun, after: ComparedRun): FieldChange[] =>
  list.flatMap(([name, value]) => {
    const [valueBefore, valueAfter] = [value(before), value(after)];
    return valueBefore === valueAfter ? [] : [{ name, before: valueBefore, after: valueAfter }];
  });

export const fieldChanges = (before: ComparedRun, after: ComparedRun): FieldChange[] => changesOf(fields, before, after);
export const usageChanges = (before: ComparedRun, after: ComparedRun): FieldChange[] => changesOf(usageFields, before, after);

/** The procedures of the revisions, and their other differences. */
export function revisionChanges(
  before: ComparedRun,
  after: ComparedRun,
): { procedure: { before: string; after: string }; config: ConfigChange[] } {
  const procedure = { before: before.head.revision?.procedure ?? '', after: after.head.revision?.procedure ?? '' };
  const [configBefore, configAfter] = [before.record.revision?.config, after.record.revision?.config];
  // A revision that could not be read has no differences.
  if (configBefore === undefined || configAfter === undefined) return { procedure: { before: '', after: '' }, config: [] };
  return { procedure, config: configChanges(configBefore, configAfter) };
}

/** A step of one of the runs, or of both: the same call with the same or another outcome. */
export interface StepChange {
  change: 'same' | 'outcome' | 'removed' | 'added';
  before: Step | null;
  after: Step | null;
}

/** More differences than this are not aligned, because the time grows with their square. */
const maxEditLength = 2_000;

/** The steps of both runs, aligned where they did the same. */
export function alignSteps(before: readonly ComparableStep[], after: readonly ComparableStep[]): StepChange[] {
  const keys = (steps: readonly ComparableStep[]): string[] => steps.map(({ key }) => key);
  const parts = diffArrays(keys(before), keys(after), { maxEditLength });
  const changes: StepChange[] = [];
  let [left, right] = [0, 0];
  const add = (count: number, kind: 'both' | 'removed' | 'added'): void => {
    for (let index = 0; index < count; index += 1) {
      const stepBefore = kind === 'added' ? undefined : before[left++];
      const stepAfter = kind === 'removed' ? undefined : after[right++];
      const change = kind !== 'both' ? kind : stepBefore?.outcomeKey === stepAfter?.outcomeKey ? 'same' : 'outcome';
      changes.push({ change, before: withoutKeys(stepBefore), after: withoutKeys(stepAfter) });
    }
  };
  if (parts === undefined) {
    const firstDifference = before.findIndex(({ key }, index) => key !== after[index]?.key);
    const common = firstDifference < 0 ? before.length : firstDifference;
    add(common, 'both');
    add(before.length - common, 'removed');
    add(after.length - common, 'added');
  } else for (const { count, removed, added } of parts) add(count, removed ? 'removed' : added ? 'added' : 'both');
  return changes;
}

/** The step without its keys. */
export function withoutKeys(step: ComparableStep | undefined): Step | null {
  if (step === undefined) return null;
  const { key: _, outcomeKey: __, ...plain } = step;
  return plain;
}

export interface AnswerChange {
  title: string;
  before: string | null;
  after: string | null;
}

/** Requests that both runs made and that were answered differently; those with the same title are compared in order. */
export function answerChanges(before: readonly RecordedHumanRequest[] = [], after: readonly RecordedHumanRequest[] = []): AnswerChange[] {
  const remaining = [...after];
  return before.flatMap((request) => {
    const index = remaining.findIndex(({ title, type }) => title === request.title && type === request.type);
    if (index < 0) return [];
    const [match] = remaining.splice(index, 1);
    return match?.response === request.response ? [] : [{ title: request.title, before: request.response, after: match?.response ?? null }];
  });
}

export interface FileDifference {
  path: string;
  change: 'added' | 'removed' | 'changed';
  size_before: number | null;
  size_after: number | null;
  sha256_before: string | null;
  sha256_after: string | null;
}

/** Files that only one of the runs has, or whose content differs. Files without a hash are compared by their size. */
export function fileChanges(before: readonly FileRecord[], after: readonly FileRecord[]): FileDifference[] {
  const [left, right] = [before, after].map((files) => new Map(files.map((file) => [file.path, file])));
  const paths = [...new Set([...before, ...after].map(({ path }) => path))].sort();
  return paths.flatMap((path) => {
    const [fileBefore, fileAfter] = [left?.get(path), right?.get(path)];
    const isSame =
      fileBefore?.size === fileAfter?.size &&
      (fileBefore?.sha256 === fileAfter?.sha256 || fileBefore?.sha256 === null || fileAfter?.sha256 === null);
    if (isSame) return [];
    const change = fileBefore === undefined ? 'added' : fileAfter === undefined ? 'removed' : 'changed';
    return [
      {
        path,
        change,
        size_before: fileBefore?.size ?? null,
        size_after: fileAfter?.size ?? null,
        sha256_before: fileBefore?.sha256 ?? null,
        sha256_after: fileAfter?.sha256 ?? null,
      } as const,
    ];
  });
}
