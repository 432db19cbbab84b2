/** Milliseconds for asking a server for its tools, or for how it is authorized. */
export const probeLimit = 15_000;
