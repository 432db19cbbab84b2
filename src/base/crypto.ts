/** node:crypto, loaded on first use: it adds 3 ms to start-up, and commands that only read never need it. */
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);

export const crypto = (): typeof import('node:crypto') => load('node:crypto') as typeof import('node:crypto');
