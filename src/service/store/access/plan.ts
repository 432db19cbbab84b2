/** The limits and features of a team. */
import type { Operation } from '../../../interface/operation.ts';
import { operationGroups } from '../../../interface/operations.ts';

export type Limit = number | 'unlimited';

/**
 * Which runs count against the limit of a period: all that were started in it, or only those that neither failed nor were
 * interrupted.
 */
export const runCountingModes = ['started', 'succeeded'] as const;
export type RunCountingMode = (typeof runCountingModes)[number];

export interface Plan {
  name: string;
  limits: { agentRuns: Limit; assignments: Limit; clarityInterviews: Limit };
  /** How many runs are executed at the same time, at least 1. */
  maxConcurrentRuns: number;
  runCountingMode: RunCountingMode;
  features: readonly string[];
  products: readonly string[];
}

/** The plan of a team without a plan of its own. */
export const defaultPlan: Plan = {
  name: 'local',
  limits: { agentRuns: 'unlimited', assignments: 'unlimited', clarityInterviews: 'unlimited' },
  maxConcurrentRuns: 8,
  runCountingMode: 'started',
  features: interfaceGroups(),
  products: ['local-service'],
};

/** What this service offers: the groups of the interface, except those that only this service has. */
function interfaceGroups(): string[] {
  const groups = Object.entries(operationGroups) as [string, Record<string, Operation>][];
  return groups.filter(([, rows]) => Object.values(rows).some(({ extension }) => !extension)).map(([name]) => name);
}

/** A period in which runs are counted: ISO 8601 in UTC, the end exclusive. */
export interface Period {
  start: string;
  end: string;
}

/** The calendar month in UTC that contains a moment (milliseconds). */
export function billingPeriod(now: number): Period {
  const date = new Date(now);
  const month = (offset: number): string => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1)).toISOString();
  return { start: month(0), end: month(1) };
}
