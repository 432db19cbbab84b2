/** `--jq EXPR`: jq itself, compiled to WebAssembly. */
import { UsageError } from '../base/errors.ts';
import { hasTooFewAddresses, tooFewAddresses } from '../base/web-assembly-memory.ts';

/**
 * The outputs of a jq filter as lines: strings unquoted, everything else as JSON, indented on a terminal.
 * @throws UsageError `jq_failed` with jq's own message for a filter that does not compile or fails on the data.
 */
export async function runJq(data: unknown, filter: string, pretty: boolean): Promise<string> {
  const { stdout, stderr, exitCode } = await execute(data, filter);
  if (exitCode !== 0) throw failure(stderr);
  if (stdout === '') return '';
  return stdout
    .split('\n')
    .map((line) => `${unquoted(line, pretty)}\n`)
    .join('');
}

/** The exit code of jq for a filter that does not compile (jq(1), INVOKING JQ). */
const doesNotCompile = 3;

/** Checks a filter without executing it. @throws UsageError `jq_failed` for one that does not compile */
export async function checkJq(filter: string): Promise<void> {
  // It may end in a comment.
  const { exitCode } = await execute(null, `empty | (${filter}\n)`);
  if (exitCode !== doesNotCompile) return;
  // The positions in this message are those in the filter as it was written.
  const { stderr, exitCode: ownExitCode } = await execute(null, filter);
  if (ownExitCode === doesNotCompile) throw failure(stderr);
}

async function execute(data: unknown, filter: string): Promise<{ stdout: string; stderr: string; exitCode: number }> {
  const { raw } = await import('jq-wasm');
  // jq's own -r is not used: jq-wasm trims the output, including spaces that belong to a string.
  return raw(JSON.stringify(data ?? null), filter, ['-c', '--']).catch((error: unknown) => {
    if (!hasTooFewAddresses(error)) throw error;
    throw new UsageError(`--jq: ${tooFewAddresses.reason}.`, tooFewAddresses.hint, 'jq_failed');
  });
}

const failure = (stderr: string): UsageError =>
  new UsageError(`--jq: ${tidy(stderr)}`, 'The filter is applied to the JSON that -o json prints.', 'jq_failed');

function unquoted(line: string, pretty: boolean): string {
  if (line.startsWith('"')) return JSON.parse(line) as string;
  // Numbers are left as jq printed them: parsing would round long ones.
  return pretty && /^[[{]/.test(line) ? JSON.stringify(JSON.parse(line), undefined, 2) : line;
}

function tidy(message: string): string {
  return message
    .replace(/^jq: error(?: \(at [^)]*\))?: /, '')
    .replace(/\njq: \d+ compile errors?$/, '')
    .trim();
}
