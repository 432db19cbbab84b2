/**
 * Measures how long tests take on a busy machine. The clock stands still while the processes of a lane are ready to run but other programs
 * use the processors, so a limit means the same on an idle machine as on a busy one: a loop uses up its limit with processor time,
 * a test that waits forever uses it up by waiting.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The clock of a process and the processes that it started. Without `/proc` it is an ordinary clock. */
export class LaneClock {
  #pid;
  #now;
  #proc;
  #time = 0;
  #lastNow;
  /** How long each thread has waited for a processor so far, in milliseconds. */
  #waits;

  /** @param options `now` returns milliseconds that never go back; `proc` is the folder with the state of processes */
  constructor(pid, { now = () => performance.now(), proc = '/proc' } = {}) {
    this.#pid = pid;
    this.#now = now;
    this.#proc = proc;
    this.#lastNow = now();
    this.#waits = this.#currentWaits();
  }

  /**
   * Milliseconds since the clock was created. Of those since the previous call, the time that the thread which waited longest for a
   * processor has waited does not count.
   */
  time() {
    const now = this.#now();
    const waits = this.#currentWaits();
    const waited = Math.max(0, ...[...waits].map(([thread, milliseconds]) => milliseconds - (this.#waits.get(thread) ?? 0)));
    this.#time += Math.max(0, now - this.#lastNow - waited);
    this.#lastNow = now;
    this.#waits = waits;
    return this.#time;
  }

  #currentWaits() {
    const waits = new Map();
    for (const folder of [this.#pid, ...descendants(this.#pid, this.#proc)].flatMap((pid) => threadFolders(pid, this.#proc))) {
      const nanoseconds = Number(textOf(path.join(folder, 'schedstat')).split(' ')[1] ?? 0);
      waits.set(folder, nanoseconds / 1e6);
    }
    return waits;
  }
}

/** The processes that a process started, and those that they started. Without `/proc`, they are not known. */
export function descendants(pid, proc = '/proc') {
  const children = threadFolders(pid, proc).flatMap((folder) =>
    textOf(path.join(folder, 'children')).split(' ').filter(Boolean).map(Number),
  );
  return children.flatMap((child) => [child, ...descendants(child, proc)]);
}

function threadFolders(pid, proc) {
  const folder = path.join(proc, String(pid), 'task');
  try {
    return readdirSync(folder).map((thread) => path.join(folder, thread));
  } catch {
    return [];
  }
}

/** The text of a file, empty if the process has ended. */
function textOf(file) {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}
