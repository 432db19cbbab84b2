/** Words for cases. Apart from the schemas, so that commands can name them. */
export const caseStatuses = ['pending', 'completed', 'failed'] as const;
export type CaseStatus = (typeof caseStatuses)[number];

/** What people see: the status, and for a pending case who it waits for. */
export const caseDisplayStatuses = ['pending', 'in_progress', 'needs_input', 'postponed', 'completed', 'failed'] as const;
export type CaseDisplayStatus = (typeof caseDisplayStatuses)[number];

/** What cases can be filtered by; `claimed` are those in progress. A case has one of them at a time. */
export const caseStatusFilters = ['pending', 'claimed', 'completed', 'failed', 'needs_input', 'postponed'] as const;
export type CaseStatusFilter = (typeof caseStatusFilters)[number];

/** From the lowest to the highest. */
export const casePriorities = ['none', 'medium', 'high'] as const;
export type CasePriority = (typeof casePriorities)[number];

export const caseSortFields = ['created_at', 'updated_at', 'postponed_to'] as const;
