/**
 * Starts a program that a launcher prepared, as the leader of its own process group. It does not start before a keeper
 * watches it; after `close`, no process of its group is running (at the level `contained`, no process that it started at all; at the level
 * `host` on Linux, none that still has its environment); and it ends when the service ends, whatever happens.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import { type Keeper, startKeeper } from './keeper.ts';
import type { Launch } from './launch.ts';
import { countStarts, hasRunningMember, type ProcessStart, processState } from './process-table.ts';
import { killStrays } from './strays.ts';

/** How a program ended. One of the two is null. */
export interface Exit {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
}

export interface StartedProcess {
  readonly pid: number | undefined;
  /** Null unless it was requested. */
  readonly stdin: Writable | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Rejects if the program cannot be started. */
  readonly exit: Promise<Exit>;
  /** Sends SIGTERM to everything that the program started, and SIGKILL to what remains after the grace period, in milliseconds. */
  end(grace?: number): Promise<void>;
  /** Kills the remaining processes, and releases what was prepared for the program. Always call it; further calls do nothing. */
  close(): Promise<void>;
}

/** The default time between SIGTERM and SIGKILL, in milliseconds. */
const defaultGrace = 300;
/** The interval between checks whether processes have ended, and how long `close` waits for processes that were killed, in milliseconds. */
const checkInterval = 20;
const killLimit = 5_000;

/**
 * Joins the cgroups in the arguments before `--`, waits for a line on descriptor 3, and then becomes the program. If no line arrives,
 * the service has died, and it ends.
 */
const gate = 'while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; read -r go <&3 || exit; exec 3<&-; exec "$@"';

/**
 * Starts a program, and releases the launch if it cannot be started. Throws ServiceError 400 `invalid_command` for arguments that
 * cannot be passed to a program: with a NUL character, or longer than the system allows.
 */
export async function startProcess(launch: Launch, options: { stdin?: 'pipe' | 'ignore' } = {}): Promise<StartedProcess> {
  let keeper: Keeper | undefined;
  try {
    keeper = await startKeeper();
    const earlierStarts = await countStarts();
    const child = spawnGated(launch, options.stdin ?? 'ignore');
    return supervise(launch, child, { keeper, start: child.pid === undefined ? undefined : { pid: child.pid, earlierStarts } });
  } catch (error) {
    keeper?.dismiss();
    await launch.release();
    throw startError(error);
  }
}

function spawnGated({ level, program, args, environment, directory, cgroups }: Launch, stdin: 'pipe' | 'ignore'): ChildProcess {
  // detached: the program leads its own process group, which can be ended as a whole.
  return spawn('/bin/sh', ['-c', gate, 'sh', ...cgroups, '--', program, ...args], {
    cwd: directory,
    env: { ...environment },
    detached: true,
    // Where bubblewrap reports the first process of a sandbox (4), and reads the environment (5) and a filter (6). Other programs do
    // not get them.
    stdio: [stdin, 'pipe', 'pipe', 'pipe', ...(level === 'contained' ? (['pipe', 'pipe', 'pipe'] as const) : [])],
  });
}

/** What ends a program. `start` is undefined if the program could not be started. */
interface Supervision {
  keeper: Keeper;
  start: ProcessStart | undefined;
}

function supervise(launch: Launch, child: ChildProcess, supervision: Supervision): StartedProcess {
  const { keeper } = supervision;
  const firstProcess = launch.level === 'contained' ? firstOf(child.stdio[4] as Readable, keeper) : undefined;
  let wasEnded = false;
  const exit = new Promise<Exit>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(startError(error)));
    child.once('exit', (exitCode, signal) =>
      resolve(wasEnded && firstProcess !== undefined ? withSignal({ exitCode, signal }) : { exitCode, signal }),
    );
  });
  // Callers that await the exit get the error, but they do not have to.
  exit.catch(() => undefined);
  write((child.stdio as readonly unknown[])[5], launch.secretInput ?? '');
  write((child.stdio as readonly unknown[])[6], launch.systemCallFilter ?? '');
  if (launch.marker !== undefined) keeper.mark(launch.marker);
  if (child.pid !== undefined) keeper.keep(child.pid, launch.folder);
  // The program can start only now: from here on, it ends with the service, whatever happens.
  write(child.stdio[3], 'go\n');

  let ending: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    exit,
    end(grace = defaultGrace) {
      wasEnded = true;
      ending ??= firstProcess === undefined ? endGroup(keeper, grace) : endSandbox(keeper, firstProcess, exit, grace);
      return ending;
    },
    close() {
      closing ??= close(launch, supervision, firstProcess);
      return closing;
    },
  };
}

/** Writes to an input of the process. Errors are ignored: if the process has ended, its exit reports that. */
function write(stream: unknown, content: string | Buffer): void {
  const input = stream as Writable | undefined;
  input?.on('error', () => input.destroy()).end(content);
}

async function close(launch: Launch, { keeper, start }: Supervision, firstProcess: FirstProcess | undefined): Promise<void> {
  try {
    const hadMembers = await keeper.signal('KILL');
    // When it ends, everything in the sandbox ends, but only after the group has ended.
    if (firstProcess !== undefined) await firstProcess.waitForEnd(killLimit);
    else if (hadMembers && start !== undefined) await waitForGroup(keeper, start, killLimit);
    if (launch.marker !== undefined && start !== undefined) await killStrays(launch.marker, start, keeper);
  } finally {
    keeper.dismiss();
    await launch.release();
  }
}

/** Resolves when no process of the leader's group is running any more, or after some milliseconds. */
async function waitForGroup(keeper: Keeper, leader: ProcessStart, limit: number): Promise<void> {
  const deadline = performance.now() + limit;
  while (performance.now() < deadline && (await keeper.signal('0')) && (await hasRunningMember(leader))) await delay(2);
}

/** Sends SIGTERM to the group, and SIGKILL to the remaining processes after the grace period. */
async function endGroup(keeper: Keeper, grace: number): Promise<void> {
  await keeper.signal('TERM');
  const deadline = performance.now() + grace;
  while (performance.now() < deadline) {
    await delay(checkInterval);
    if (!(await keeper.signal('0'))) return;
  }
  await keeper.signal('KILL');
}

/** Sends SIGTERM to the program's own group: the keeper's group contains only bubblewrap, which would not give the program any time. */
async function endSandbox(keeper: Keeper, first: FirstProcess, exit: Promise<Exit>, grace: number): Promise<void> {
  if (await first.terminate()) {
    const timer = new AbortController();
    const ended = exit.then(
      () => undefined,
      () => undefined,
    );
    await Promise.race([ended, delay(grace, undefined, { signal: timer.signal }).catch(() => undefined)]);
    timer.abort();
  }
  await keeper.signal('KILL');
}

interface FirstProcess {
  /** Sends SIGTERM to the group of the program. Returns false if it has not started. */
  terminate(): Promise<boolean>;
  /** Resolves when no process of the sandbox is running, or after the time limit. @param limit milliseconds */
  waitForEnd(limit: number): Promise<void>;
}

/** The first process of a sandbox, from bubblewrap's report. It is the parent of the program, and when it ends, everything in the sandbox ends. */
function firstOf(report: Readable, keeper: Keeper): FirstProcess {
  let text = '';
  report.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  report.on('error', () => report.destroy());
  const pid = (): number | undefined => {
    const digits = /"child-pid": *(\d+)/.exec(text)?.[1];
    return digits === undefined ? undefined : Number(digits);
  };
  return {
    async terminate() {
      // `--new-session` has made it the leader of the program's group. It ignores SIGTERM itself.
      const group = pid();
      return group !== undefined && (await keeper.signal('TERM', group));
    },
    async waitForEnd(limit) {
      const deadline = performance.now() + limit;
      while (performance.now() < deadline && (await isRunning(pid()))) await delay(2);
    },
  };
}

/** Whether a process exists and is not a zombie. */
async function isRunning(pid: number | undefined): Promise<boolean> {
  return pid !== undefined && (await processState(pid))?.isRunning === true;
}

/** Restores the signal: bubblewrap reports a program that a signal has terminated with exit code 128 plus the signal's number. */
function withSignal({ exitCode, signal }: Exit): Exit {
  const names: Record<number, NodeJS.Signals> = { 143: 'SIGTERM', 137: 'SIGKILL' };
  const name = names[exitCode ?? 0];
  return name === undefined ? { exitCode, signal } : { exitCode: null, signal: name };
}

function startError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'E2BIG')
    return new ServiceError(400, 'invalid_command', 'The command is too long for the shell; put long texts into a file.');
  if (code === 'ERR_INVALID_ARG_VALUE') return new ServiceError(400, 'invalid_command', 'The command contains a NUL character.');
  return error;
}
