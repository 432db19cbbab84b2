/** node:crypto, loaded on first use: it adds 3 ms to start-up, and commands that only read never need it. */
export const crypto = (): typeof import('node:crypto') => globalThis.process.getBuiltinModule('node:crypto');
