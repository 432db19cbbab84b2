/** Patterns of texts that documents of several runtimes contain. */

/** The ID of a step. */
export const idPattern = '^[A-Za-z][A-Za-z0-9_]{0,63}$';
/** A duration with its unit, such as 1m30s. */
export const durationPattern = '^(0|(\\d+(\\.\\d+)?(ms|s|m|h|d))+)$';
