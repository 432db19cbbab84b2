/**
 * Runs the command of --exec once. It gets the event on its standard input and nothing else: neither the terminal, from which it
 * could read or fake keys of a prompt, nor a credential of the environment.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../../base/clock.ts';
import { OutputLines } from './output-lines.ts';

export interface CommandRun {
  /** In the syntax of the shell. */
  command: string;
  input: string;
  env: Record<string, string>;
  cwd: string;
  platform: string;
  clock: Clock;
  /** Ends the command. */
  signal: AbortSignal;
  /** Called with each line of its output. */
  onLine: (line: string) => void;
}

/** How long the command may take, how long it may take to end after SIGTERM, and how long its output is awaited; in milliseconds. */
export const timeLimit = 60_000;
const killDelay = 2_000;
const outputDelay = 500;

/** Resolves when the command has ended, to what went wrong, as the end of a sentence, or to undefined. */
export async function runCommand({ command, input, env, cwd, platform, clock, signal, onLine }: CommandRun): Promise<string | undefined> {
  const isWindows = platform === 'win32';
  const [program, ...words] = isWindows ? [command] : ['/bin/sh', '-c', command];
  // detached: a session of its own has no access to the terminal, and its processes can be ended together.
  const child = spawn(program as string, words, { stdio: 'pipe', env, cwd, detached: !isWindows, shell: isWindows, windowsHide: true });
  const done = new AbortController();
  const timer = clock.sleep(timeLimit, done.signal).then(
    () => 'time limit' as const,
    () => undefined,
  );
  const aborted = new Promise<'aborted'>((resolve) => {
    if (signal.aborted) resolve('aborted');
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true, signal: done.signal });
  });
  const lines = new OutputLines(onLine);
  const outputs = [child.stdout, child.stderr].map((stream) => lines.read(stream));
  const exit = exitOf(child);
  // A command does not have to read its input.
  child.stdin.on('error', () => undefined).end(input);
  try {
    const first = await Promise.race([exit, timer, aborted]);
    if (first === 'time limit' || first === 'aborted') await endGroup(child, exit, clock);
    if (first === 'aborted') return undefined;
    // What it wrote last can arrive after its end, and a program that it started in the background might keep its output open.
    await Promise.race([Promise.all(outputs), clock.sleep(outputDelay, done.signal).catch(() => undefined)]);
    return first === 'time limit' ? `did not end within ${timeLimit / 1_000} seconds and was stopped` : first;
  } finally {
    done.abort();
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    lines.end();
    child.unref();
  }
}

/** What went wrong, or undefined. */
const exitOf = (child: ChildProcess): Promise<string | undefined> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => resolve(code === 0 ? undefined : `failed (${signal ?? `exit code ${code}`})`));
  });

/** Ends the command together with the programs that it started. */
async function endGroup(child: ChildProcess, exit: Promise<unknown>, clock: Clock): Promise<void> {
  const done = new AbortController();
  signalGroup(child, 'TERM');
  await Promise.race([exit, clock.sleep(killDelay, done.signal).catch(() => undefined)]);
  done.abort();
  signalGroup(child, 'KILL');
}

function signalGroup(child: ChildProcess, signal: 'TERM' | 'KILL'): void {
  const { pid } = child;
  if (pid === undefined) return;
  // Node can signal a group only through the process, which belongs to the launcher.
  const killProcess = spawn('/bin/sh', ['-c', 'kill -s "$1" -- "-$2"', 'sh', signal, String(pid)], { stdio: 'ignore' });
  killProcess.once('error', () => child.kill(`SIG${signal}`));
  killProcess.unref();
}
