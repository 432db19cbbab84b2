/** The most memory that a program written for Node had. */
const script = `
import { readFileSync } from 'node:fs';
const own = () => {
  try {
    return Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1]);
  } catch {
    return process.resourceUsage().maxRSS;
  }
};
process.on('exit', () => process._rawDebug('peak', own()));
`;

/**
 * A flag of Node: the process says it when it ends. Where there is a /proc, that is asked: Linux counts towards `maxRSS` what
 * the parent took when it forked, and a process that has run many tests takes more than any program that is measured here.
 */
export const peakFlag = `--import=data:text/javascript,${encodeURIComponent(script)}`;

/** MiB that a process with the flag had at most, from its stderr. */
export const peakOf = (stderr: string): number => Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1_024;
