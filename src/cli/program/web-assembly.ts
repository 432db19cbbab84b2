/**
 * Keeps V8 from optimising WebAssembly. undici's parser consists of it, and at exit, Node waits until V8 has optimised it in the background
 * (40 to 60 ms), although the program has already done its work. The baseline compiler is fast enough for HTTP.
 * @param setFlags `setFlagsFromString` of node:v8
 */
export function compileWebAssemblyOnce(setFlags: (flags: string) => void): void {
  setFlags('--liftoff-only');
  // With Node 24 and 26, the first one implies these only on the command line of Node.
  setFlags('--no-wasm-tier-up');
  setFlags('--no-wasm-dynamic-tiering');
}
