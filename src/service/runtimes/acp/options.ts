/** Options of the acp runtime. */
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../log.ts';
import type { RunTokens } from '../run-tokens.ts';

export interface AcpOptions {
  clock: Clock;
  log: Log;
  /** PATH of the agents. */
  searchPath: string;
  /** The path of Node and its version, if they are known. */
  node?: string | undefined;
  nodeVersion?: string | undefined;
  /** Issues the tokens with which agents use the tools of their runs. */
  runTokens: RunTokens;
  /** How many agents can run at the same time. */
  agentConcurrency: number;
  /** Milliseconds for which the process of a waiting run stays alive. */
  idleTimeout?: number | undefined;
  /** Milliseconds for a turn of an agent whose definition sets no time. */
  turnTimeout?: number | undefined;
  /** Time limits in milliseconds. */
  limits?: Partial<AcpLimits> | undefined;
}

export interface AcpLimits {
  /** For starting an agent and opening a session. Some agents take 14 seconds on a busy machine. */
  start: number;
  /** For loading a session: some agents repeat the whole conversation. */
  load: number;
  /** For ending a prompt after it was cancelled. */
  cancel: number;
  /** For the parts of a check, which the client waits for: a slot, the start, and a turn. Together they must take less than 2 minutes. */
  checkSlot: number;
  checkStart: number;
  checkTurn: number;
}

export const defaultLimits: AcpLimits = {
  ...{ start: 120_000, load: 60_000, cancel: 3_000 },
  ...{ checkSlot: 5_000, checkStart: 50_000, checkTurn: 45_000 },
};
