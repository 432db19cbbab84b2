/**
 * Starts a program that a launcher prepared, as the leader of its own process group. Guarantees: it does not start before a keeper
 * watches it, no process of its group (at the level `contained`, no process that it started at all) is running after `close`, and it ends
 * with the service, whatever happens.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';
import { type Keeper, startKeeper } from './keeper.ts';
import type { Launch } from './launch.ts';

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
  /** Kills the remaining processes, and releases what was prepared for the program. Call it in any case; further calls do nothing. */
  close(): Promise<void>;
}

/** The default time between SIGTERM and SIGKILL, in milliseconds. */
const defaultGrace = 300;
/** The wait between two checks whether processes have ended, and for how long the last ones of a sandbox are waited for; milliseconds. */
const checkInterval = 20;
const sandboxEnd = 5_000;

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
    return guarded(launch, spawnGated(launch, options.stdin ?? 'ignore'), keeper);
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
    // Where bubblewrap reports the first process of a sandbox (4), and reads the environment (5). Other programs do not get them.
    stdio: [stdin, 'pipe', 'pipe', 'pipe', ...(level === 'contained' ? (['pipe', 'pipe'] as const) : [])],
  });
}

function guarded(launch: Launch, child: ChildProcess, keeper: Keeper): StartedProcess {
  const first = launch.level === 'contained' ? firstOf(child.stdio[4] as Readable, keeper) : undefined;
  let wasEnded = false;
  const exit = new Promise<Exit>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(startError(error)));
    child.once('exit', (exitCode, signal) =>
      resolve(wasEnded && first !== undefined ? signalled({ exitCode, signal }) : { exitCode, signal }),
    );
  });
  // Whoever waits for the exit gets the error; nobody has to.
  exit.catch(() => undefined);
  write((child.stdio as readonly unknown[])[5], launch.secretInput ?? '');
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
      ending ??= first === undefined ? endGroup(keeper, grace) : endSandbox(keeper, first, exit, grace);
      return ending;
    },
    close() {
      closing ??= close(launch, keeper, first);
      return closing;
    },
  };
}

/** A process that has ended does not read any more, which its exit reports. */
function write(stream: unknown, text: string): void {
  const input = stream as Writable | undefined;
  input?.on('error', () => input.destroy()).end(text);
}

async function close(launch: Launch, keeper: Keeper, first: FirstProcess | undefined): Promise<void> {
  try {
    await keeper.signal('KILL');
    // Its death takes everything in the sandbox with it, but only after that of the group.
    await first?.gone(sandboxEnd);
  } finally {
    keeper.dismiss();
    await launch.release();
  }
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

/** The group contains only bubblewrap, which would not give the program any time: SIGTERM goes to the program's own group. */
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
  /** Resolves when the sandbox has no processes any more, or after some milliseconds. */
  gone(limit: number): Promise<void>;
}

/** The first process of a sandbox, from bubblewrap's report. It is the parent of the program, and everything dies with it. */
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
    async gone(limit) {
      const deadline = performance.now() + limit;
      while (performance.now() < deadline && (await isRunning(pid()))) await delay(2);
    },
  };
}

/** Whether a process exists and has not only to be collected by its parent. */
async function isRunning(pid: number | undefined): Promise<boolean> {
  const status = pid === undefined ? '' : await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // "pid (name) state ..."; the name can contain anything.
  const state = status.slice(status.lastIndexOf(')') + 2)[0];
  return state !== undefined && state !== 'Z' && state !== 'X';
}

/** Bubblewrap reports a program that a signal ended as exit code 128 plus its number. */
function signalled({ exitCode, signal }: Exit): Exit {
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
