/** Which cases a bulk command is for: those named by their ids, or all of a queue that match. */

import { chunks } from '../../base/chunks.ts';
import { AopsError, exitCodes, UsageError } from '../../base/errors.ts';
import { readText } from '../../cli/input/body.ts';
import { uuid } from '../../cli/kit/checks.ts';
import type { Context } from '../../cli/kit/context.ts';
import { anyArguments, type CommandInput, flag, text } from '../../cli/kit/flags.ts';
import { queueId } from '../../cli/names/resolve.ts';
import { type CaseCounts, caseCounts, casesOf, countsOf, describeCounts, sum } from '../../cli/records/case-counts.ts';
import type { Client } from '../../client/client.ts';
import type { Case, CaseFilters, CaseStatusFilter } from '../../interface/types.ts';
import { filterFlags, filtersOf } from './filters.ts';
import { readCases } from './read.ts';

export const selectionArguments = {
  cases: anyArguments('Ids of the cases, or - to read them from standard input, unless --all-matching', {
    check: (value, name) => (value === '-' ? value : uuid(value, name)),
  }),
} as const;
export const selectionFlags = {
  queue: text('QUEUE', 'The queue of --all-matching, by id or name', { complete: 'queues' }),
  allMatching: flag('Every case of the queue that the filters let through'),
  search: text('TEXT', 'Cases whose title, data or id contains this'),
  ...filterFlags,
} as const;

/** What every bulk command reads and counts with. */
export const selectionOperations = ['listQueues', 'getCase', 'searchCases'] as const;

type SelectionInput = CommandInput<typeof selectionArguments, typeof selectionFlags>;

/** What a request for cases of one queue says. */
export interface Part {
  queueId: string;
  body: { case_ids: string[] } | { all_matching: true; filters: CaseFilters; search?: string };
}

export interface Selection {
  /** One for each queue that the cases are in; several where a request cannot name them all. */
  parts: Part[];
  counts: CaseCounts;
}

/** What a command makes of the cases that it is given. */
interface SelectionRules {
  /** The statuses of --all-matching when no others were asked for. */
  only?: CaseStatusFilter[];
  /** Whether ids of cases that do not exist are passed over; the selection may be empty then. */
  ignoreNotFound?: boolean;
}

/**
 * Finds the cases, and tells how many there are.
 * @throws UsageError, AopsError `no_case_matches` (exit 3)
 */
export async function selectCases(
  context: Context,
  input: SelectionInput,
  { only, ignoreNotFound = false }: SelectionRules = {},
): Promise<Selection> {
  // Nobody is signed in: that is to be said before anything else.
  await context.client();
  const selection = input.allMatching ? await matching(context, input, only) : await namedCases(context, input, ignoreNotFound);
  if (sum(selection.counts) === 0 && !(ignoreNotFound && !input.allMatching)) {
    const hint =
      only === undefined || input.status.length > 0
        ? 'See them with `aops cases search`.'
        : `Without --status it means ${only.join(', ')}.`;
    throw new AopsError('No case matches.', { code: 'no_case_matches', exit: exitCodes.notFound, hint });
  }
  context.terminal.note(describeCounts(selection.counts));
  return selection;
}

async function matching(context: Context, input: SelectionInput, only: CaseStatusFilter[] | undefined): Promise<Selection> {
  if (input.cases.length > 0) throw new UsageError('--all-matching and the ids of cases exclude each other.');
  if (input.queue === undefined) throw new UsageError('--all-matching needs the queue.', 'Give it with --queue.');
  const id = await queueId(context, input.queue);
  const given = filtersOf(context, input);
  const filters = only === undefined || given.status !== undefined ? given : { ...given, status: only };
  const search = input.search === undefined ? {} : { search: input.search };
  const counts = await caseCounts(await context.client(), id, { filters, ...search });
  return { parts: [{ queueId: id, body: { all_matching: true, filters, ...search } }], counts };
}

async function namedCases(context: Context, input: SelectionInput, ignoreNotFound: boolean): Promise<Selection> {
  const filtering = input.search !== undefined || Object.keys(filtersOf(context, input)).length > 0;
  if (input.cases.length === 0) throw new UsageError('Which cases?', 'Give their ids, or --queue QUEUE --all-matching with filters.');
  if (filtering) throw new UsageError('Filters go with --all-matching.', 'Ids name their cases already.');
  const wanted = input.queue === undefined ? undefined : await queueId(context, input.queue);
  const ids = await idsGiven(context, input.cases);
  const found = await readCases(await context.client(), ids, { queueId: wanted, ignoreNotFound });
  const stray = wanted === undefined ? undefined : found.find(({ queue_id }) => queue_id !== wanted);
  if (stray !== undefined) throw new UsageError(`The case ${stray.id} is in another queue.`, 'Leave --queue out, or name its own.');
  const parts = [...byQueue(found)].flatMap(([id, cases]) =>
    chunks(
      cases.map((row) => row.id),
      mostIds,
    ).map((case_ids): Part => ({ queueId: id, body: { case_ids } })),
  );
  return { parts, counts: countsOf(found) };
}

/** The ids, each once; those of standard input are separated by white space. @throws UsageError */
async function idsGiven(context: Context, given: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const id of given) {
    if (id !== '-') ids.push(id);
    else
      ids.push(
        ...(await readText(context, '-'))
          .split(/\s+/)
          .filter((word) => word !== '')
          .map((word) => uuid(word, 'Each word on standard input')),
      );
  }
  if (ids.length === 0) throw new UsageError('Standard input has no ids.', 'Such as those of `aops cases list QUEUE -o id`.');
  return [...new Set(ids)];
}

/** Ids of one bulk request at the most, as the interface has it. */
const mostIds = 100;

function byQueue(cases: readonly Case[]): Map<string, Case[]> {
  const groups = new Map<string, Case[]>();
  for (const row of cases) groups.set(row.queue_id, [...(groups.get(row.queue_id) ?? []), row]);
  return groups;
}

/** How many there are now: of those that were named, or of all that match now. */
export async function countAgain(client: Client, { parts }: Selection): Promise<CaseCounts> {
  const [first] = parts;
  if (first !== undefined && 'all_matching' in first.body) return caseCounts(client, first.queueId, first.body);
  const found: Case[] = [];
  for (const { queueId: id, body } of parts)
    if ('case_ids' in body) found.push(...(await readCases(client, body.case_ids, { queueId: id })));
  return countsOf(found);
}

/** Whether none of the cases has one of these statuses: of all that match, at one moment, since counts are taken one after the other. */
export async function noneIs(client: Client, { parts }: Selection, statuses: CaseStatusFilter[]): Promise<boolean> {
  const [first] = parts;
  if (first === undefined || 'case_ids' in first.body) return true;
  const { filters } = first.body;
  const among = statuses.filter((status) => filters.status?.includes(status) ?? true);
  return among.length === 0 || (await casesOf(client, first.queueId, first.body, among)) === 0;
}

/** The id of the case, where one was named. */
export function theOnly({ parts: [part, ...others] }: Selection): string | undefined {
  if (part === undefined || others.length > 0 || !('case_ids' in part.body)) return undefined;
  return part.body.case_ids.length === 1 ? part.body.case_ids[0] : undefined;
}

const cases = (count: number): string => `${count} ${count === 1 ? 'case' : 'cases'}`;

/** `Deleted 3 cases.` with what was skipped and interrupted. */
export function bulkText(verb: string, changed: number, skipped: number, interrupted: readonly string[] = []): string {
  const left = skipped === 0 ? '' : ` Skipped ${cases(skipped)}.`;
  const runs = interrupted.length === 0 ? '' : ` Interrupted ${interrupted.length} ${interrupted.length === 1 ? 'run' : 'runs'}.`;
  return `${verb} ${cases(changed)}.${left}${runs}`;
}
