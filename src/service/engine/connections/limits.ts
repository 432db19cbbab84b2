/** Time limit in milliseconds for listing the tools of a server, and for discovering how to authorize it. */
export const probeLimit = 15_000;
