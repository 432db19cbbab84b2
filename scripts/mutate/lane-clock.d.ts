export interface LaneClockOptions {
  /** Milliseconds that never go back. */
  now?: () => number;
  /** The folder with the state of processes, usually `/proc`. */
  proc?: string;
}

export class LaneClock {
  constructor(pid: number, options?: LaneClockOptions);
  /** Milliseconds since the clock was created, without those that threads waited for a processor. */
  time(): number;
}

/** The processes that a process started, and those that they started. */
export function descendants(pid: number, proc?: string): number[];
