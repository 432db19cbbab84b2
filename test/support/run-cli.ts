/** Runs the command line in this process with the arguments, environment and streams of the test, and real HTTP. */
import { PassThrough, Readable, Writable } from 'node:stream';
import type { Entries } from '../../src/cli/kit/tree.ts';
import type { Host } from '../../src/cli/program/host.ts';
import { runProgram } from '../../src/cli/program/program.ts';
import { main } from '../../src/main.ts';

export type Signal = Parameters<Host['on']>[0];

export interface CliOptions {
  env?: Record<string, string>;
  /** Standard input; by default an empty pipe. */
  stdin?: string | Uint8Array | Host['stdin'];
  cwd?: string;
  /** Whether stdout and stderr appear to be terminals, or only stderr. */
  tty?: boolean | 'stderr';
  columns?: number;
  /** Whether the reader of stdout appears to have closed it before the first write. */
  brokenPipe?: boolean;
  /** The program and its arguments, for commands that start it, such as `local up`. They can also end processes. */
  program?: readonly string[];
  /** Commands instead of those of aops. */
  tree?: Entries;
  /** Receives a function that delivers Ctrl-C, and one that delivers any signal. */
  onStart?: (interrupt: () => void, deliver: (signal: Signal) => void) => void;
  /** Called after each write with the contents of stdout and stderr so far. */
  onOutput?: (stdout: string, stderr: string) => void;
  /** See main.ts. */
  writeDirectly?: (bytes: Uint8Array) => number;
}

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
  /** stdout as JSON. */
  json<T = Record<string, unknown>>(): T;
  /** stdout as one JSON object per line. */
  lines<T = Record<string, unknown>>(): T[];
}

class Sink extends Writable {
  text = '';
  isTTY: boolean | undefined;
  columns: number | undefined;
  readonly #onWrite: () => void;
  isBroken = false;

  constructor(onWrite: () => void) {
    super();
    this.#onWrite = onWrite;
  }

  // Other functions of a terminal. Nothing that was written can be erased here.
  cursorTo = (): boolean => true;
  moveCursor = (): boolean => true;
  clearLine = (): boolean => true;

  override _write(chunk: Buffer | string, _encoding: string, callback: (error?: Error) => void): void {
    if (this.isBroken) {
      callback(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      return;
    }
    this.text += chunk.toString();
    this.#onWrite();
    callback();
  }
}

export async function runCli(argv: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const onWrite = (): void => options.onOutput?.(stdout.text, stderr.text);
  const stdout: Sink = new Sink(onWrite);
  const stderr: Sink = new Sink(onWrite);
  stdout.isBroken = options.brokenPipe === true;
  if (options.tty) {
    for (const stream of options.tty === 'stderr' ? [stderr] : [stdout, stderr]) {
      stream.isTTY = true;
      stream.columns = options.columns ?? 80;
    }
  }
  const { stdin = new PassThrough().end() } = options;
  const listeners: Record<Signal, Set<() => void>> = {
    SIGINT: new Set(),
    SIGTERM: new Set(),
    SIGHUP: new Set(),
    SIGCONT: new Set(),
    exit: new Set(),
  };
  const deliver = (signal: Signal): void => {
    for (const listener of [...listeners[signal]]) listener();
  };
  options.onStart?.(() => deliver('SIGINT'), deliver);
  const run = (host: Host): Promise<number> =>
    options.tree ? runProgram(host, options.tree) : main(host, undefined, options.writeDirectly);
  const [execPath = process.execPath, script = ''] = options.program ?? [process.execPath, 'aops'];
  const code = await run({
    argv: [execPath, script, ...argv],
    execPath,
    pid: process.pid,
    kill: (pid, signal) => {
      if (options.program === undefined) throw new Error('tests in this process must not kill processes');
      process.kill(pid, signal);
    },
    platform: process.platform,
    version: process.version,
    env: { HOME: '/dev/null/home', TERM: 'xterm-256color', ...options.env },
    stdin: stdin instanceof Readable ? stdin : Readable.from([Buffer.from(stdin)]),
    stdout,
    stderr,
    cwd: () => options.cwd ?? process.cwd(),
    on: (signal, listener) => listeners[signal].add(listener),
    removeListener: (signal, listener) => listeners[signal].delete(listener),
    rawListeners: (signal) => [...listeners[signal]],
    memoryUsage: () => process.memoryUsage(),
    cpuUsage: () => process.cpuUsage(),
  });
  return {
    code,
    stdout: stdout.text,
    stderr: stderr.text,
    json: <T>() => JSON.parse(stdout.text) as T,
    lines: <T>() =>
      stdout.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as T),
  };
}
