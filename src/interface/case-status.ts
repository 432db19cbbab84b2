/** Words for cases. Separate from the schemas, so that commands can use them. */
export const caseStatuses = ['pending', 'completed', 'failed'] as const;
export type CaseStatus = (typeof caseStatuses)[number];

/** The displayed status: the stored status, or for a pending case what it waits for. */
export const caseDisplayStatuses = ['pending', 'in_progress', 'needs_input', 'postponed', 'completed', 'failed'] as const;
export type CaseDisplayStatus = (typeof caseDisplayStatuses)[number];

/** Filters of cases; `claimed` means in progress. A case has one of them at a time. */
export const caseStatusFilters = ['pending', 'claimed', 'completed', 'failed', 'needs_input', 'postponed'] as const;
export type CaseStatusFilter = (typeof caseStatusFilters)[number];

/** Priorities, from the lowest to the highest. */
export const casePriorities = ['none', 'medium', 'high'] as const;
export type CasePriority = (typeof casePriorities)[number];

export const caseSortFields = ['created_at', 'updated_at', 'postponed_to'] as const;
