/** The process, as far as the program needs it; tests pass their own. */
import type { InputStream, OutputStream } from '../../terminal/streams.ts';

export interface Host {
  /** As in Node: executable, script, then the arguments. */
  argv: readonly string[];
  execPath: string;
  pid: number;
  kill(pid: number, signal: 'SIGINT' | 'SIGTERM' | 0): unknown;
  platform: string;
  /** Of Node: `v20.19.0`. */
  version: string;
  env: Readonly<Record<string, string | undefined>>;
  stdin: InputStream;
  stdout: OutputStream;
  stderr: OutputStream;
  cwd(): string;
  on(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void): unknown;
  removeListener(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void): unknown;
  /** Ends the process, with the exit code that was set. */
  exit?(): unknown;
  /** In bytes. */
  memoryUsage(): { rss: number; heapUsed: number };
  /** In microseconds. */
  cpuUsage(): { user: number; system: number };
}
