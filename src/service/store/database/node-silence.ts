/** Milliseconds after which a node that has not been seen is considered to have ended: the lease of its jobs, which others then take. */
export const nodeSilence = 15_000;
