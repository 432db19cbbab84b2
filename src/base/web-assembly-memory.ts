/** WebAssembly, of which the HTTP parser and jq consist, where the memory of a process is limited. */

/** Part of a sentence, and what to do about it. */
export const tooFewAddresses = {
  reason: 'this process may not reserve the memory that WebAssembly needs',
  hint: 'Set NODE_OPTIONS=--disable-wasm-trap-handler, or raise the limit (`ulimit -v`).',
};

/**
 * Whether WebAssembly could not be loaded because addresses are limited, usually by `ulimit -v`. V8 reserves 10 GB of them for each
 * module, without using them.
 */
export const hasTooFewAddresses = (error: unknown): boolean =>
  error instanceof Error && /WebAssembly\.\w+\(\): Out of memory/.test(error.message);
