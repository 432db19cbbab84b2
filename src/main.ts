/** The entry point for the launcher. Loads only the code that the arguments need. */
import { version } from './base/version.ts';
import type { Host } from './cli/program/host.ts';

/**
 * Runs the command line of `host` and resolves to the exit code. Never rejects.
 * @param prepare called before most of the program is loaded
 * @param writeDirectly writes to standard output without a stream, which takes as long to create as everything else for the version.
 * May throw, after which nothing has been written.
 */
export async function main(host: Host, prepare?: () => void, writeDirectly?: (text: string) => void): Promise<number> {
  const [firstArgument, ...otherArguments] = host.argv.slice(2);
  if (otherArguments.length === 0 && (firstArgument === '--version' || firstArgument === '-V' || firstArgument === 'version')) {
    try {
      if (writeDirectly !== undefined) {
        writeDirectly(`${version}\n`);
        return 0;
      }
    } catch {
      // The stream waits for a slow reader, and reports what is wrong.
    }
    const failure = await new Promise<Error | null | undefined>((written) => {
      host.stdout.once('error', written);
      host.stdout.write(`${version}\n`, written);
    });
    if (!failure) return 0;
    const { endFailed } = await import('./cli/program/program.ts');
    return endFailed(host, failure);
  }
  prepare?.();
  const [{ runProgram }, { commandTree }] = await Promise.all([import('./cli/program/program.ts'), import('./commands/index.ts')]);
  return runProgram(host, commandTree);
}
