/** How many cases there are of which status: what bulk actions show before they do something. */
import type { Client } from '../../client/client.ts';
import { type CaseDisplayStatus, caseStatusFilters } from '../../interface/case-status.ts';
import type { Case, CaseFilters, CaseStatusFilter } from '../../interface/types.ts';

export type CaseCounts = Record<CaseStatusFilter, number>;

const none = (): CaseCounts => ({ pending: 0, claimed: 0, completed: 0, failed: 0, needs_input: 0, postponed: 0 });

export interface CaseMatch {
  filters?: CaseFilters;
  search?: string;
}

/** How many times the statuses are counted again when cases moved from one to another meanwhile. */
const recounts = 4;

/** Counts of the cases that match, as of now: there is a request for each status, so those of a busy queue may be a little off. */
export async function caseCounts(client: Client, queueId: string, match: CaseMatch = {}): Promise<CaseCounts> {
  const statuses = match.filters?.status ?? [...caseStatusFilters];
  const counts = none();
  for (let left = recounts; ; left -= 1) {
    const count = async (status: CaseStatusFilter): Promise<void> => {
      counts[status] = await casesOf(client, queueId, match, [status]);
    };
    const [total] = await Promise.all([casesOf(client, queueId, match, statuses), ...statuses.map(count)]);
    if (sum(counts) === total || left === 0) return counts;
  }
}

/** How many of the cases that match have one of these statuses, at one moment. */
export async function casesOf(client: Client, queueId: string, match: CaseMatch, statuses: CaseStatusFilter[]): Promise<number> {
  const { filters = {}, search } = match;
  const body = { filters: { ...filters, status: statuses }, limit: 1, ...(search === undefined ? {} : { search }) };
  return (await client.call('searchCases', { params: { queue_id: queueId }, body })).total;
}

/** Counts by the words that lists show; in JSON. */
export type ShownCounts = Record<CaseDisplayStatus, number>;

export const countShape = {
  pending: 'integer',
  in_progress: 'integer',
  needs_input: 'integer',
  postponed: 'integer',
  completed: 'integer',
  failed: 'integer',
} as const;

export const shownCounts = ({ claimed: in_progress, pending, needs_input, postponed, completed, failed }: CaseCounts): ShownCounts => ({
  pending,
  in_progress,
  needs_input,
  postponed,
  completed,
  failed,
});

/** The same the other way round, for the sentences. */
export const countsShown = ({ in_progress: claimed, ...counts }: ShownCounts): CaseCounts => ({ ...counts, claimed });

/** Counts of cases that were read. */
export function countsOf(cases: readonly Case[]): CaseCounts {
  const counts = none();
  for (const { display_status } of cases) {
    const status = display_status === 'in_progress' ? 'claimed' : display_status;
    // A service may have statuses that are not known here.
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

export const sum = (counts: CaseCounts): number => Object.values(counts).reduce((total, count) => total + count, 0);

/** `12 cases: 8 pending, 4 in progress`, or `8 pending cases`. */
export function describeCounts(counts: CaseCounts): string {
  const total = sum(counts);
  const parts = Object.entries(counts).flatMap(([status, count]) =>
    count === 0 ? [] : [`${count} ${status === 'claimed' ? 'in progress' : status.replace('_', ' ')}`],
  );
  const cases = total === 1 ? 'case' : 'cases';
  if (parts.length === 1)
    return counts.needs_input > 0 ? `${total} ${cases} that ${total === 1 ? 'needs' : 'need'} input` : `${parts[0]} ${cases}`;
  return `${total} ${cases}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}

/** What becomes of the runs of cases that are taken from them; empty when there are none. */
export function warnOfRuns({ claimed, needs_input: waiting }: CaseCounts): string {
  const runs = (count: number): string => `${count} ${count === 1 ? 'run' : 'runs'}`;
  const stops = claimed === 0 ? '' : ` That interrupts ${runs(claimed)}.`;
  return waiting === 0 ? stops : `${stops} ${runs(waiting)} ${waiting === 1 ? 'waits' : 'wait'} for a person, and can still be answered.`;
}
