/** Run statuses in use (further groups, Runs). Readers accept others. Separate from the schemas, so that commands can use them. */
export const runStatuses = ['not_started', 'pending', 'starting', 'running', 'waiting', 'completed', 'failed', 'interrupted'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** Whether a run with this status can still do something: it has not ended. */
export const isActive = (status: string): boolean => status !== 'completed' && status !== 'failed' && status !== 'interrupted';

/** Filters of the list of runs: the statuses, `stopped` (by a person), and `needs_attention`. */
export const runStatusFilters = [...runStatuses, 'stopped', 'needs_attention'] as const;
