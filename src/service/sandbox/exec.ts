/**
 * Runs a shell command in a directory, at the level of its launcher. Guarantees: a small environment without the service's secrets,
 * limits for time and output, and that nothing that the command started in its process group is running when the call ends.
 */
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Launcher } from './launch.ts';
import { type StartedProcess, startProcess } from './process.ts';
import { wholeCharacters } from './utf8.ts';

export interface ExecOptions {
  /** What confines the command. */
  launcher: Launcher;
  /** After this many milliseconds, the command is terminated and `timedOut` is set. */
  timeoutMs: number;
  /** The number of bytes that are kept of stdout and of stderr. The rest is read and discarded. */
  outputLimit: number;
  signal: AbortSignal;
}

export interface ExecResult {
  /** Null when a signal terminated the shell. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  timedOut: boolean;
  /** Whether stdout or stderr was longer than the limit. */
  truncated: boolean;
  durationMs: number;
}

export interface ExecPlace {
  /** Working directory and HOME. */
  directory: string;
  /** TMPDIR. */
  temporary: string;
  /** PATH. */
  searchPath: string;
}

/** How long to wait for output that a process outside the group keeps open, in milliseconds. */
const lastOutput = 200;
/** The default PATH. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Runs `/bin/sh -c command`. A non-zero exit is a result, not an error. Rejects with the signal's reason when aborted and with
 * `invalid_command` (400) for a command that cannot be passed to a shell: with a NUL character, or longer than the system allows.
 */
export async function execute(command: string, place: ExecPlace, options: ExecOptions): Promise<ExecResult> {
  options.signal.throwIfAborted();
  const startTime = performance.now();
  const { directory, temporary, searchPath } = place;
  const launch = await options.launcher.prepare({
    program: '/bin/sh',
    args: ['-c', command],
    environment: { PATH: searchPath, HOME: directory, TMPDIR: temporary, LANG: 'C.UTF-8' },
    directory,
    home: directory,
    temporary,
  });
  const child = await startProcess(launch);
  try {
    const result = await run(child, options);
    options.signal.throwIfAborted();
    return { ...result, durationMs: Math.round(performance.now() - startTime) };
  } finally {
    await child.close();
  }
}

async function run(child: StartedProcess, options: ExecOptions): Promise<Omit<ExecResult, 'durationMs'>> {
  const stdout = capture(child.stdout, options.outputLimit);
  const stderr = capture(child.stderr, options.outputLimit);
  let timedOut = false;
  let endPromise: Promise<void> | undefined;
  const end = (): void => {
    endPromise ??= child.end();
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, options.timeoutMs);
  options.signal.addEventListener('abort', end, { once: true });
  // If the command was aborted while the keeper was starting, no event follows.
  if (options.signal.aborted) end();
  try {
    const exit = await child.exit;
    clearTimeout(timer);
    // While the group is being terminated, its members get the grace period even if the shell ends first.
    await endPromise;
    await child.close();
    await Promise.all([stdout.waitForEnd(lastOutput), stderr.waitForEnd(lastOutput)]);
    return { ...exit, stdout: stdout.text(), stderr: stderr.text(), timedOut, truncated: stdout.truncated() || stderr.truncated() };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', end);
  }
}

/** Keeps the first `limit` bytes of a stream and continues reading, so that the writer is never blocked. */
function capture(stream: Readable, limit: number) {
  const chunks: Buffer[] = [];
  let size = 0;
  let isTruncated = false;
  stream.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, limit - size);
    isTruncated ||= part.length < chunk.length;
    size += part.length;
    if (part.length > 0) chunks.push(part);
  });
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  stream.on('error', () => stream.destroy());
  return {
    truncated: () => isTruncated,
    text(): string {
      const bytes = Buffer.concat(chunks);
      return bytes.subarray(0, isTruncated ? wholeCharacters(bytes) : bytes.length).toString('utf8');
    },
    /** Waits for the end of the stream, but not forever: a process outside the group can keep it open. */
    async waitForEnd(ms: number): Promise<void> {
      const timer = new AbortController();
      const timeout = delay(ms, undefined, { signal: timer.signal }).catch(() => undefined);
      await Promise.race([closed, timeout]);
      timer.abort();
      stream.destroy();
    },
  };
}
