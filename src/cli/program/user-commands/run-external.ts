/** Runs another program in place of a command: it gets the terminal, the signals, and the exit code. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { AopsError, exitCodes } from '../../../base/errors.ts';
import type { Environment } from '../../../config/paths.ts';
import type { Host } from '../host.ts';

export interface ExternalProgram {
  /** What people call it: `aops-deploy`. */
  name: string;
  file: string;
  args: readonly string[];
  env: Environment;
}

/** Resolves to the exit code, which is 128 and the number of the signal for a program that a signal ended. @throws AopsError `extension_not_started` */
export async function runExternal(host: Host, { name, file, args, env }: ExternalProgram): Promise<number> {
  const child = spawn(file, args, { env: { ...env }, stdio: [shared(host.stdin), shared(host.stdout), shared(host.stderr)] });
  // The streams of a host that is not a process.
  if (child.stdin) (host.stdin as Readable).pipe(child.stdin).on('error', () => undefined);
  child.stdout?.pipe(host.stdout, { end: false });
  child.stderr?.pipe(host.stderr, { end: false });
  const endForwarding = forwardSignals(host, (signal) => void child.kill(signal));
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) => reject(notStarted(name, file, error)));
      child.once('close', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
    });
  } finally {
    endForwarding();
  }
}

/** The descriptor of a stream of this process, which the program can use directly. */
const shared = (stream: Readable | Writable): number | 'pipe' => ('fd' in stream && typeof stream.fd === 'number' ? stream.fd : 'pipe');

/** Ctrl-C reaches the program from the terminal, and the program decides what it means; other signals are sent to this process alone. */
function forwardSignals(host: Host, send: (signal: 'SIGTERM' | 'SIGHUP') => void): () => void {
  const listeners = {
    SIGINT: () => undefined,
    SIGTERM: () => send('SIGTERM'),
    SIGHUP: () => send('SIGHUP'),
  } as const;
  const signals = Object.keys(listeners) as (keyof typeof listeners)[];
  for (const signal of signals) host.on(signal, listeners[signal]);
  return () => {
    for (const signal of signals) host.removeListener(signal, listeners[signal]);
  };
}

const notStarted = (name: string, file: string, error: NodeJS.ErrnoException): AopsError =>
  new AopsError(`${name} could not be started (${error.code ?? error.message}).`, {
    code: 'extension_not_started',
    exit: exitCodes.failure,
    hint:
      error.code === 'ENOEXEC'
        ? `A script needs a first line that names its interpreter, such as #!/bin/sh: ${file}`
        : `Check that this program exists and may be executed: ${file}`,
    cause: error,
  });
