/** Measures the peak memory of a Node program. */
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
 * A flag for Node that makes the process report its peak when it ends, from /proc if available: on Linux `maxRSS` includes what the
 * parent used when it forked, and a process that has run many tests uses more than any program that is measured here.
 */
export const peakFlag = `--import=data:text/javascript,${encodeURIComponent(script)}`;

/** The peak of a process with the flag in MiB, from its stderr. */
export const peakOf = (stderr: string): number => Number(/^peak (\d+)$/m.exec(stderr)?.[1]) / 1_024;
