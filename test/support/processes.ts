/** Other processes of this machine. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import process from 'node:process';

/** Whether a process is running. One that has ended but was not collected by its parent (state Z, on Linux) is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    // The state follows the name, which can contain anything.
    return !/\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return process.platform !== 'linux';
  }
}

/**
 * The IDs of the processes that use a folder: it contains their working directory, or it appears in their command or their environment.
 * Always empty except on Linux.
 */
export function processesUsing(folder: string): number[] {
  if (process.platform !== 'linux') return [];
  const mentions = (pid: string): boolean => {
    const texts = [
      () => readlinkSync(`/proc/${pid}/cwd`),
      ...['cmdline', 'environ'].map((name) => () => readFileSync(`/proc/${pid}/${name}`, 'latin1')),
    ];
    return texts.some((read) => {
      try {
        return read().includes(folder);
      } catch {
        // It has ended in the meantime.
        return false;
      }
    });
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && mentions(name))
    .map(Number);
}
