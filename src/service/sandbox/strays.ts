/**
 * Finds what a program at the level `host` started outside its process group, such as a daemon with its own session: processes inherit
 * the environment of the program, which contains a variable that no other program has. Only Linux shows the environment of a process.
 */
import { randomUUID } from 'node:crypto';
import type { Keeper } from './keeper.ts';
import { type ProcessStart, processesWith, processState } from './process-table.ts';

/** The variable that marks a program and everything that it starts. */
export const markerName = 'AOPS_PROGRAM_ID';

/** A value that no other program has. */
export const newMarker = (): string => randomUUID();

/** How many times to search: processes can start others during a search. */
const maxSearches = 50;

/**
 * Kills all processes whose environment contains the marker, with their groups: the program started those as well, because it could not
 * leave its session without creating groups of its own. Processes that changed their environment and their group are not found.
 * @param program the process that had the marker first
 */
export async function killStrays(marker: string, program: ProcessStart, keeper: Keeper): Promise<void> {
  for (let search = 0; search < maxSearches; search++) {
    const strays = await processesWith(`${markerName}=${marker}`, program);
    if (strays.length === 0) return;
    const groups = (await Promise.all(strays.map(processState))).map((state) => state?.group);
    for (const group of new Set(groups)) if (group !== undefined && group > 1) await keeper.signal('KILL', group);
  }
}
