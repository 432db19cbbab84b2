/** The part of the process that the program needs; tests pass their own. */
import path from 'node:path';
import type { InputStream, OutputStream } from '../../terminal/sides.ts';
import type { JobControl } from '../../terminal/streams.ts';

export type HostEvent = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGCONT' | 'exit';

export interface Host {
  /** As in Node: executable, script, then the arguments. The script is empty for the single-file executable. */
  argv: readonly string[];
  execPath: string;
  pid: number;
  kill(pid: number, signal: 'SIGINT' | 'SIGTERM' | 'SIGTSTP' | 0): unknown;
  platform: string;
  /** Of Node: `v20.19.0`. */
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
  cwd(): string;
  on(event: HostEvent, listener: () => void): unknown;
  removeListener(event: HostEvent, listener: () => void): unknown;
  /** The listeners of an event, as `on` and `removeListener` take them. */
  rawListeners(event: HostEvent): readonly unknown[];
  /** Ends the process, with the exit code that was set. */
  exit?(): unknown;
  /** In bytes. */
  memoryUsage(): { rss: number; heapUsed: number };
  /** In microseconds. */
  cpuUsage(): { user: number; system: number };
}

/** The current directory. If it was removed, its former path, so that only commands fail that need something in it. */
export function currentFolder(host: Host): string {
  try {
    return host.cwd();
  } catch {
    const { PWD } = host.env;
    return PWD !== undefined && path.isAbsolute(PWD) ? PWD : path.parse(host.execPath).root;
  }
}

/** How the host is stopped and continued. A process is stopped only on systems whose shells can continue it. */
export function jobControl(host: Host): JobControl {
  const on = (event: 'SIGCONT' | 'exit') => (listener: () => void) => {
    host.on(event, listener);
    return () => void host.removeListener(event, listener);
  };
  // The whole process group is stopped: otherwise the shell would keep waiting for a launcher such as npx.
  const stop = host.platform === 'win32' ? {} : { stop: () => void host.kill(0, 'SIGTSTP') };
  return { ...stop, onContinue: on('SIGCONT'), onExit: on('exit'), interruptibly: (work) => withoutListeners(host, work) };
}

/** Lets SIGINT and SIGTERM end the process at once while work is in progress, as they do without any listener. */
async function withoutListeners<Result>(host: Host, work: () => Promise<Result>): Promise<Result> {
  const removed = (['SIGINT', 'SIGTERM'] as const).flatMap((event) =>
    host.rawListeners(event).map((listener) => ({ event, listener: listener as () => void })),
  );
  for (const { event, listener } of removed) host.removeListener(event, listener);
  try {
    return await work();
  } finally {
    for (const { event, listener } of removed) host.on(event, listener);
  }
}
