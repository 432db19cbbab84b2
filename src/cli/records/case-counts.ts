/** Numbers of cases by status, which bulk actions show before they change anything. */
import { pluralize } from '../../base/pluralize.ts';
import type { Client } from '../../client/client.ts';
import { type CaseDisplayStatus, caseStatusFilters } from '../../interface/case-status.ts';
import type { Case, CaseFilters, CaseStatusFilter } from '../../interface/types.ts';

export type CaseCounts = Record<CaseStatusFilter, number>;

const zeroCounts = (): CaseCounts => ({ pending: 0, claimed: 0, completed: 0, failed: 0, needs_input: 0, postponed: 0 });

export interface CaseMatch {
  filters?: CaseFilters;
  search?: string;
}

/** How many times to count again when cases changed their status in the meantime. */
const recounts = 4;

/** The numbers of matching cases by status. There is a request for each status, so those of a busy queue may be slightly off. */
export async function caseCounts(client: Client, queueId: string, match: CaseMatch = {}): Promise<CaseCounts> {
  const statuses = match.filters?.status ?? [...caseStatusFilters];
  const counts = zeroCounts();
  for (let attemptsLeft = recounts; ; attemptsLeft -= 1) {
    const count = async (status: CaseStatusFilter): Promise<void> => {
      counts[status] = await casesOf(client, queueId, match, [status]);
    };
    const [total] = await Promise.all([casesOf(client, queueId, match, statuses), ...statuses.map(count)]);
    if (sumOf(counts) === total || attemptsLeft === 0) return counts;
  }
}

/** The number of matching cases with one of these statuses, at one moment. */
export async function casesOf(client: Client, queueId: string, match: CaseMatch, statuses: CaseStatusFilter[]): Promise<number> {
  const { filters = {}, search } = match;
  const body = { filters: { ...filters, status: statuses }, limit: 1, ...(search === undefined ? {} : { search }) };
  return (await client.call('searchCases', { params: { queue_id: queueId }, body })).total;
}

/** Counts by display status, as in JSON. */
export type DisplayCounts = Record<CaseDisplayStatus, number>;

export const countShape = {
  pending: 'integer',
  in_progress: 'integer',
  needs_input: 'integer',
  postponed: 'integer',
  completed: 'integer',
  failed: 'integer',
} as const;

export const toDisplayCounts = ({
  claimed: in_progress,
  pending,
  needs_input,
  postponed,
  completed,
  failed,
}: CaseCounts): DisplayCounts => ({
  pending,
  in_progress,
  needs_input,
  postponed,
  completed,
  failed,
});

/** The reverse of `toDisplayCounts`, for describing counts in words. */
export const fromDisplayCounts = ({ in_progress: claimed, ...counts }: DisplayCounts): CaseCounts => ({ ...counts, claimed });

/** The counts of the specified cases. */
export function countsOf(cases: readonly Case[]): CaseCounts {
  const counts = zeroCounts();
  for (const { display_status } of cases) {
    const status = display_status === 'in_progress' ? 'claimed' : display_status;
    // A service may have statuses that this version does not know.
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

export const sumOf = (counts: CaseCounts): number => Object.values(counts).reduce((total, count) => total + count, 0);

/** `12 cases: 8 pending, 4 in progress`, or `8 pending cases`. */
export function describeCounts(counts: CaseCounts): string {
  const total = sumOf(counts);
  const parts = Object.entries(counts).flatMap(([status, count]) =>
    count === 0 ? [] : [`${count} ${status === 'claimed' ? 'in progress' : status.replace('_', ' ')}`],
  );
  const cases = pluralize(total, 'case');
  if (parts.length === 1)
    return counts.needs_input > 0
      ? `${cases} that ${total === 1 ? 'needs' : 'need'} input`
      : `${parts[0]} ${total === 1 ? 'case' : 'cases'}`;
  return `${cases}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}

/** What happens to the runs whose cases are taken from them; empty if there are none. */
export function warnOfRuns({ claimed, needs_input: waiting }: CaseCounts): string {
  const stops = claimed === 0 ? '' : ` This interrupts ${pluralize(claimed, 'run')}.`;
  const wait = waiting === 1 ? 'is' : 'are';
  return waiting === 0 ? stops : `${stops} ${pluralize(waiting, 'run')} ${wait} waiting for a person and can still be answered.`;
}
