/** Other processes of this machine. */
import { readFileSync } from 'node:fs';
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
