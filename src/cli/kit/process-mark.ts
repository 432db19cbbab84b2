/** What a lock says about the process that holds it. */
import { hostname } from 'node:os';
import type { Context } from './context.ts';

/** Names this process, so that the lock of one that was killed on this machine does not have to expire. */
export function processMark({ launcher }: Pick<Context, 'launcher'>): { holder: string; hasEnded: (holder: string) => boolean } {
  const machine = hostname();
  const hasEnded = (holder: string): boolean => {
    const [, pid, otherMachine] = /^(\d+) (.*)$/.exec(holder) ?? [];
    if (pid === undefined || otherMachine !== machine) return false;
    try {
      launcher.kill(Number(pid), 0);
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ESRCH';
    }
  };
  return { holder: `${launcher.pid} ${machine}`, hasEnded };
}
