/** Builder run statuses (interface part 3.3). Separate from the schemas, so that commands can use them. */
export const builderRunStatuses = ['running', 'completed', 'failed', 'cancelled', 'waiting_for_input', 'waiting_for_approve'] as const;
export type BuilderRunStatus = (typeof builderRunStatuses)[number];
