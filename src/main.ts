/** The entry point for the launcher. Loads only the code that the arguments need. */
import { version } from './base/version.ts';
import type { Host } from './cli/program/host.ts';

/** Writes to standard output without a stream, and returns how many bytes have been written. Throws if nothing can be written now. */
type WriteDirectly = (bytes: Uint8Array) => number;

/**
 * The threads of a service for files and for names that are looked up, of which the latter can use half. A name whose servers do not
 * respond occupies one for many seconds; with the four of Node, two such names would let all others wait.
 */
const serviceThreads = '16';

/**
 * Runs the command line of `host` and resolves to the exit code. Never rejects.
 * @param prepare called before most of the program is loaded
 * @param writeDirectly for short texts, because creating the stream takes as long as everything else
 */
export async function main(host: Host, prepare?: () => void, writeDirectly?: WriteDirectly): Promise<number> {
  const text = await quickResult(host.argv.slice(2));
  if (text !== undefined) return print(host, text, writeDirectly);
  // Node reads it when it first needs a thread.
  if (host.argv.includes('serve') && !host.env.UV_THREADPOOL_SIZE) Object.assign(host.env, { UV_THREADPOOL_SIZE: serviceThreads });
  prepare?.();
  const [{ runProgram }, { commandTree }] = await Promise.all([import('./cli/program/program.ts'), import('./commands/index.ts')]);
  return runProgram(host, commandTree);
}

/** What is printed by commands that need little of the program, and that shells wait for; undefined for all others. */
async function quickResult([first, ...others]: readonly string[]): Promise<string | undefined> {
  if (others.length === 0 && (first === '--version' || first === '-V' || first === 'version')) return `${version}\n`;
  if (first === 'completion' && others.length === 1) {
    const { completionScripts } = await import('./commands/completion/scripts.ts');
    return Object.entries(completionScripts).find(([shell]) => shell === others[0])?.[1];
  }
  if (first !== '__complete') return undefined;
  const { quickCompletion } = await import('./commands/completion/quick.ts');
  return quickCompletion(others, async () => (await import('./commands/index.ts')).commandTree);
}

async function print(host: Host, text: string, writeDirectly?: WriteDirectly): Promise<number> {
  let rest: Uint8Array = Buffer.from(text);
  try {
    while (writeDirectly !== undefined && rest.length > 0) rest = rest.subarray(writeDirectly(rest));
  } catch {
    // The stream waits for a slow reader, and reports what is wrong.
  }
  if (rest.length === 0) return 0;
  const failure = await new Promise<Error | null | undefined>((written) => {
    host.stdout.once('error', written);
    host.stdout.write(rest, written);
  });
  if (!failure) return 0;
  const { endFailed } = await import('./cli/program/program.ts');
  return endFailed(host, failure);
}
