/** Options of the acp runtime. */
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../log.ts';

export interface AcpOptions {
  clock: Clock;
  log: Log;
  /** PATH of the agents. */
  searchPath: string;
  /** How many agents run at the same time. By default, what the memory of this machine allows. */
  agentConcurrency?: number | undefined;
  /** Milliseconds for which the process of a waiting run is kept. */
  patience?: number | undefined;
}
