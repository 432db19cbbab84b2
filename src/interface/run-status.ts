/** Run statuses in use (further groups, Runs). Readers accept others. Apart from the schemas, so that commands can name them. */
export const runStatuses = ['not_started', 'pending', 'starting', 'running', 'waiting', 'completed', 'failed', 'interrupted'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** Whether a run with this status can still do something: it has not ended. */
export const isActive = (status: string): boolean => status !== 'completed' && status !== 'failed' && status !== 'interrupted';

/** What the list of runs can be filtered by: beside the statuses, `stopped` (by a person) and `needs_attention`. */
export const runStatusFilters = [...runStatuses, 'stopped', 'needs_attention'] as const;
