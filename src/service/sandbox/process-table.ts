/** The processes of this machine, as far as /proc shows them; it exists only on Linux. */
import { readdir, readFile } from 'node:fs/promises';

/** The state of a process, from proc(5); undefined if it does not exist. */
export async function processState(pid: number): Promise<{ isRunning: boolean; group: number } | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (status === undefined) return undefined;
  // "pid (name) state parent group ..."; the name can contain anything.
  const [state = '', , group] = status.slice(status.lastIndexOf(')') + 2).split(' ');
  return { isRunning: !/[ZX]/.test(state), group: Number(group) };
}

/** The IDs of all processes; undefined where /proc does not exist. */
export async function processIds(): Promise<number[] | undefined> {
  const names = await readdir('/proc').catch(() => undefined);
  return names?.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Whether a group has a process that is not a zombie; true where that is unknown. */
export async function hasRunningMember(group: number): Promise<boolean> {
  const pids = await processIds();
  if (pids === undefined) return true;
  const states = await Promise.all(pids.map(processState));
  return states.some((state) => state?.group === group && state.isRunning);
}

/** The processes whose environment contains a variable. Those of other users and those that have ended show none. */
export async function processesWith(variable: string): Promise<number[]> {
  const pids = (await processIds()) ?? [];
  const matches = await Promise.all(
    pids.map((pid) =>
      readFile(`/proc/${pid}/environ`, 'latin1').then(
        (text) => text.split('\0').includes(variable),
        () => false,
      ),
    ),
  );
  return pids.filter((_, index) => matches[index]);
}
