/**
 * Finds what a program at the level `host` started outside its process group, such as a daemon with its own session: processes inherit
 * the environment of the program, which contains a variable that no other program has. Only Linux shows the environment of a process.
 */
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import process from 'node:process';

/** The variable that marks a program and everything that it starts. */
export const markerName = 'AOPS_PROGRAM_ID';

/** A value that no other program has. */
export const newMarker = (): string => randomUUID();

/** How many times to search: processes can start others during a search. */
const maxSearches = 50;

/** Kills all processes whose environment contains the marker. Processes that changed their environment are not found. */
export async function killStrays(marker: string): Promise<void> {
  if (process.platform !== 'linux') return;
  for (let search = 0; search < maxSearches; search++) {
    const strays = await markedProcesses(`${markerName}=${marker}`);
    if (strays.length === 0) return;
    for (const stray of strays) kill(stray);
  }
}

/** Processes of other users and those that have ended show no environment. */
async function markedProcesses(variable: string): Promise<number[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const isMarked = await Promise.all(
    names.map((name) =>
      readFile(`/proc/${name}/environ`, 'latin1').then(
        (text) => text.split('\0').includes(variable),
        () => false,
      ),
    ),
  );
  return names.filter((_, index) => isMarked[index]).map(Number);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended in the meantime.
  }
}
