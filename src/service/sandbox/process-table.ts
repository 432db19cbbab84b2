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
async function processIds(): Promise<number[] | undefined> {
  const names = await readdir('/proc').catch(() => undefined);
  return names?.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** When a process was started. */
export interface ProcessStart {
  pid: number;
  /** How many processes and threads this machine had started before; undefined where that is unknown. */
  earlierStarts: number | undefined;
}

/** How many processes and threads this machine has started, from proc_stat(5); undefined where that is unknown. */
export async function countStarts(): Promise<number | undefined> {
  return numberIn(await readFile('/proc/stat', 'utf8').catch(() => ''), /^processes (\d+)$/m);
}

/** The IDs of the process and of all that can have been started after it; undefined where /proc does not exist. */
async function processIdsSince(start: ProcessStart): Promise<number[] | undefined> {
  const pids = await processIds();
  const [starts, pidLimit] = await Promise.all([countStarts(), readFile('/proc/sys/kernel/pid_max', 'utf8').catch(() => '')]);
  return pids && isAscending(start, starts, numberIn(pidLimit, /^(\d+)$/m)) ? pids.filter((pid) => pid >= start.pid) : pids;
}

/**
 * Whether every process that was started after this one has a higher ID. The kernel assigns ascending IDs, skips those in use, and
 * starts again at the bottom when it reaches the limit. A quarter of all IDs is more than are ever in use.
 * @param starts the present result of `countStarts`. It always increases, because the process itself counts; otherwise it is not reliable.
 */
export const isAscending = ({ pid, earlierStarts }: ProcessStart, starts: number | undefined, pidLimit: number | undefined): boolean =>
  earlierStarts !== undefined &&
  starts !== undefined &&
  pidLimit !== undefined &&
  starts > earlierStarts &&
  pid + (starts - earlierStarts) < pidLimit * 0.75;

function numberIn(text: string, pattern: RegExp): number | undefined {
  const digits = pattern.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Whether the group of a process has a member that is not a zombie; true where that is unknown. */
export async function hasRunningMember(leader: ProcessStart): Promise<boolean> {
  const pids = await processIdsSince(leader);
  if (pids === undefined) return true;
  const states = await Promise.all(pids.map(processState));
  return states.some((state) => state?.group === leader.pid && state.isRunning);
}

/**
 * The processes whose environment contains a variable, of a process and those that were started after it. Processes of other users and
 * those that have ended show none. There can be thousands of earlier processes, and most commands start only a few.
 */
export async function processesWith(variable: string, start: ProcessStart): Promise<number[]> {
  const pids = (await processIdsSince(start)) ?? [];
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
