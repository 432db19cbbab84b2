/**
 * Runs a shell command in a directory. This is the `host` level: the command has all permissions of the service's user.
 * Guarantees: a small environment without the service's secrets, limits for time and output, and that no process of its group
 * is running when the call ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import { type Keeper, startKeeper } from './keeper.ts';
import { wholeCharacters } from './utf8.ts';

export interface ExecOptions {
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

/** The time between SIGTERM and SIGKILL, in milliseconds. */
const grace = 300;
/** How long to wait for output that a process outside the group keeps open, in milliseconds. */
const lastOutput = 200;
/** The default PATH. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Runs `/bin/sh -c command`. A non-zero exit is a result, not an error. Rejects with the signal's reason when aborted and with
 * `invalid_command` (400) for a command that cannot be passed to a shell: with a NUL character, or longer than the system allows.
 */
export async function execute(command: string, { directory, temporary, searchPath }: ExecPlace, options: ExecOptions): Promise<ExecResult> {
  options.signal.throwIfAborted();
  const startTime = performance.now();
  const keeper = await startKeeper();
  try {
    const result = await run(start(command, { directory, temporary, searchPath }), keeper, options);
    options.signal.throwIfAborted();
    return { ...result, durationMs: Math.round(performance.now() - startTime) };
  } finally {
    keeper.dismiss();
  }
}

async function run(child: ChildProcess, keeper: Keeper, options: ExecOptions): Promise<Omit<ExecResult, 'durationMs'>> {
  const stdout = capture(child.stdout as Readable, options.outputLimit);
  const stderr = capture(child.stderr as Readable, options.outputLimit);
  const exitPromise = new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(startError(error)));
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  if (child.pid !== undefined) keeper.keep(child.pid);
  // The command can start only now: from here on, it ends with the service, whatever happens.
  const gate = child.stdio[3] as Writable;
  gate.on('error', () => gate.destroy());
  gate.end('go\n');

  let timedOut = false;
  let endPromise: Promise<void> | undefined;
  const end = (): void => {
    endPromise ??= endGroup(keeper);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, options.timeoutMs);
  options.signal.addEventListener('abort', end, { once: true });
  // If the command was aborted while the keeper was starting, no event follows.
  if (options.signal.aborted) end();
  try {
    const exit = await exitPromise;
    clearTimeout(timer);
    // While the group is being terminated, its members get the grace period even if the shell ends first.
    await endPromise;
    await keeper.signal('KILL');
    await Promise.all([stdout.waitForEnd(lastOutput), stderr.waitForEnd(lastOutput)]);
    return { ...exit, stdout: stdout.text(), stderr: stderr.text(), timedOut, truncated: stdout.truncated() || stderr.truncated() };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener('abort', end);
  }
}

/** Waits for a line on descriptor 3 and then becomes the command. If no line arrives, the service has died, and it ends. */
const gatedCommand = 'read -r go <&3 || exit; exec 3<&-; exec /bin/sh -c "$1"';

function start(command: string, { directory, temporary, searchPath }: ExecPlace): ChildProcess {
  const env = { PATH: searchPath, HOME: directory, TMPDIR: temporary, LANG: 'C.UTF-8' };
  try {
    // detached: the shell leads its own process group, which can be terminated as a whole.
    return spawn('/bin/sh', ['-c', gatedCommand, 'sh', command], {
      cwd: directory,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    throw startError(error);
  }
}

function startError(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'E2BIG')
    return new ServiceError(400, 'invalid_command', 'The command is too long for the shell; put long texts into a file.');
  if (code === 'ERR_INVALID_ARG_VALUE') return new ServiceError(400, 'invalid_command', 'The command contains a NUL character.');
  return error;
}

/** Sends SIGTERM to the group, and SIGKILL to the remaining processes after the grace period. */
async function endGroup(keeper: Keeper): Promise<void> {
  await keeper.signal('TERM');
  const deadline = performance.now() + grace;
  while (performance.now() < deadline) {
    await delay(20);
    if (!(await keeper.signal('0'))) return;
  }
  await keeper.signal('KILL');
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
