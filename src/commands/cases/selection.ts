/** Selects the cases of a bulk command: by their IDs, or all cases of a queue that match the filters. */

import { chunks } from '../../base/chunks.ts';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { pluralize } from '../../base/pluralize.ts';
import { readText } from '../../cli/input/body.ts';
import { uuid } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { anyArguments, type CommandInput, flag, text } from '../../cli/kit/flags.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { type CaseCounts, caseCounts, casesOf, countsOf, describeCounts, sumOf } from '../../cli/records/case-counts.ts';
import type { Client } from '../../client/client.ts';
import type { Case, CaseFilters, CaseStatusFilter } from '../../interface/types.ts';
import { filterFlags, filtersOf } from './filters.ts';
import { readCases } from './read.ts';

export const selectionArguments = {
  cases: anyArguments('The IDs of the cases, or - to read them from standard input; not with --all-matching', {
    check: (value, name) => (value === '-' ? value : uuid(value, name)),
  }),
} as const;
export const selectionFlags = {
  queue: text('QUEUE', 'The queue for --all-matching, by ID or name', { complete: 'queues' }),
  allMatching: flag('Select every case of the queue that matches the filters'),
  search: text('TEXT', 'Only cases whose title, data, or ID contains this text'),
  ...filterFlags,
} as const;

/** The operations with which every bulk command reads and counts cases. */
export const selectionOperations = ['listQueues', 'getCase', 'searchCases'] as const;

type SelectionInput = CommandInput<typeof selectionArguments, typeof selectionFlags>;

/** The target and body of a request about cases of one queue. */
export interface Part {
  queueId: string;
  body: { case_ids: string[] } | { all_matching: true; filters: CaseFilters; search?: string };
}

export interface Selection {
  /** One for each queue of the cases; several if one request cannot contain all IDs. */
  parts: Part[];
  counts: CaseCounts;
}

/** How a command interprets the selection. */
interface SelectionRules {
  /** The statuses that --all-matching selects without --status. */
  only?: CaseStatusFilter[];
  /** Whether IDs of cases that do not exist are ignored, so that the selection can be empty. */
  ignoreNotFound?: boolean;
}

/**
 * Finds the cases, and notes how many there are.
 * @throws UsageError, AopsError `no_case_matches` (exit 3)
 */
export async function selectCases(
  context: Context,
  input: SelectionInput,
  { only, ignoreNotFound = false }: SelectionRules = {},
): Promise<Selection> {
  // Not being signed in is reported before anything else.
  await context.client();
  const selection = input.allMatching ? await matchingCases(context, input, only) : await namedCases(context, input, ignoreNotFound);
  if (sumOf(selection.counts) === 0 && !(ignoreNotFound && !input.allMatching)) {
    const hint =
      only === undefined || input.status.length > 0
        ? 'Search for cases with `aops cases search`.'
        : `Without --status, only cases with the status ${only.join(' or ')} are selected.`;
    throw new AopsError('No cases match.', { code: 'no_case_matches', exit: exitCodes.notFound, hint });
  }
  context.terminal.note(describeCounts(selection.counts));
  return selection;
}

async function matchingCases(context: Context, input: SelectionInput, only: CaseStatusFilter[] | undefined): Promise<Selection> {
  if (input.cases.length > 0) throw new UsageError('--all-matching cannot be combined with the IDs of cases.');
  if (input.queue === undefined) throw new UsageError('--all-matching requires a queue.', 'Specify it with --queue.');
  const id = await queueId(context, input.queue);
  const filtersFromFlags = filtersOf(context, input);
  const filters = only === undefined ? filtersFromFlags : { status: only, ...filtersFromFlags };
  const search = input.search === undefined ? {} : { search: input.search };
  const counts = await caseCounts(await context.client(), id, { filters, ...search });
  return { parts: [{ queueId: id, body: { all_matching: true, filters, ...search } }], counts };
}

async function namedCases(context: Context, input: SelectionInput, ignoreNotFound: boolean): Promise<Selection> {
  const filtering = input.search !== undefined || Object.keys(filtersOf(context, input)).length > 0;
  if (input.cases.length === 0)
    throw new UsageError('No cases were specified.', 'Pass their IDs, or use --queue QUEUE --all-matching with filters.');
  if (filtering) throw new UsageError('Filters require --all-matching.', 'Cases specified by ID cannot be filtered.');
  const wantedQueue = input.queue === undefined ? undefined : await queueId(context, input.queue);
  const ids = await readIds(context, input.cases);
  const rows = await readCases(await context.client(), ids, { queueId: wantedQueue, ignoreNotFound });
  const otherCase = wantedQueue === undefined ? undefined : rows.find(({ queue_id }) => queue_id !== wantedQueue);
  if (otherCase !== undefined)
    throw new UsageError(`The case ${otherCase.id} is in another queue.`, 'Omit --queue, or specify the queue of the case.');
  const parts = [...byQueue(rows)].flatMap(([id, cases]) =>
    chunks(
      cases.map((row) => row.id),
      maxIds,
    ).map((case_ids): Part => ({ queueId: id, body: { case_ids } })),
  );
  return { parts, counts: countsOf(rows) };
}

/** The IDs without duplicates; on standard input they are separated by white space. @throws UsageError */
async function readIds(context: Context, words: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const id of words) {
    if (id !== '-') ids.push(id);
    else
      ids.push(
        ...(await readText(context, '-'))
          .split(/\s+/)
          .filter((word) => word !== '')
          .map((word) => uuid(word, 'Each word on standard input')),
      );
  }
  if (ids.length === 0)
    throw new UsageError('Standard input contains no IDs.', 'Pipe the output of `aops cases list QUEUE -o id`, for example.');
  return [...new Set(ids)];
}

/** The maximum number of IDs in a bulk request. */
const maxIds = 100;

function byQueue(cases: readonly Case[]): Map<string, Case[]> {
  const groups = new Map<string, Case[]>();
  for (const row of cases) groups.set(row.queue_id, [...(groups.get(row.queue_id) ?? []), row]);
  return groups;
}

/** The current counts of the selected cases, or of all that match now. */
export async function countAgain(client: Client, { parts }: Selection): Promise<CaseCounts> {
  const [first] = parts;
  if (first !== undefined && 'all_matching' in first.body) return caseCounts(client, first.queueId, first.body);
  const cases: Case[] = [];
  for (const { queueId: id, body } of parts)
    if ('case_ids' in body) cases.push(...(await readCases(client, body.case_ids, { queueId: id })));
  return countsOf(cases);
}

/** Whether none of the matching cases has one of these statuses. One request checks this, because counts are read one after another. */
export async function hasNoCaseIn(client: Client, { parts }: Selection, statuses: CaseStatusFilter[]): Promise<boolean> {
  const [first] = parts;
  if (first === undefined || 'case_ids' in first.body) return true;
  const { filters } = first.body;
  const remainingStatuses = statuses.filter((status) => filters.status?.includes(status) ?? true);
  return remainingStatuses.length === 0 || (await casesOf(client, first.queueId, first.body, remainingStatuses)) === 0;
}

/** The ID of the case, if exactly one was specified. */
export function onlyCaseId({ parts: [part, ...otherParts] }: Selection): string | undefined {
  if (part === undefined || otherParts.length > 0 || !('case_ids' in part.body)) return undefined;
  return part.body.case_ids.length === 1 ? part.body.case_ids[0] : undefined;
}

/** `Deleted 3 cases.`, followed by how many were skipped and how many runs were interrupted. */
export function bulkText(verb: string, changedCount: number, skippedCount: number, interruptedIds: readonly string[] = []): string {
  const skippedText = skippedCount === 0 ? '' : ` Skipped ${pluralize(skippedCount, 'case')}.`;
  const runs = interruptedIds.length === 0 ? '' : ` Interrupted ${pluralize(interruptedIds.length, 'run')}.`;
  return `${verb} ${pluralize(changedCount, 'case')}.${skippedText}${runs}`;
}
