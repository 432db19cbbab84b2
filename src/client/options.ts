/** The options of a client, and the events it reports. */
import type { Clock } from '../base/clock.ts';
import type { Credential } from './access/credential.ts';
import type { ChangeJournal } from './journal.ts';
import type { ResponseHeaders } from './limits/rate-limit.ts';
import type { SharedLimits } from './limits/shared-limits.ts';
import type { Network } from './network/network.ts';
import type { RetryBudget } from './retry-budget.ts';

/** Events of the client that a user may want to know about. */
export type ClientEvent =
  | { type: 'retry'; reason: string; waitMilliseconds: number; attempt: number }
  | { type: 'rate_limit.waiting'; waitMilliseconds: number }
  | { type: 'rate_limit.resumed' }
  /** A change was not carried out now: the user's key was used for it before, and this is its stored result. */
  | { type: 'replayed'; method: string; path: string }
  /** One attempt, with the headers as sent and received, except for the credential. The listener chooses which to show. */
  | {
      type: 'trace';
      method: string;
      url: string;
      requestHeaders?: Record<string, string>;
      milliseconds: number;
      status?: number;
      responseHeaders?: ResponseHeaders;
      /** Why there was no answer. */
      reason?: string;
    };

export interface ClientOptions {
  /** Origin and optional path prefix, without a trailing slash. */
  baseUrl: string;
  credential: Credential;
  userAgent: string;
  /** What to do when the service rejects the credential; by default, to sign in. */
  rejectedHint?: string;
  /** The command's signal: Ctrl-C and `--timeout`. */
  signal?: AbortSignal;
  /** The command's deadline in steady time of the clock: no wait is started that would end later. */
  deadline?: number;
  /** Longest pause that a rate limit may request, in milliseconds. */
  maxWaitMilliseconds?: number;
  /** The key of the command, if the user repeats one whose outcome is unknown; otherwise a new key. */
  idempotencyKey?: string;
  /** How to reach the service; directly when left out. */
  network?: Network;
  clock?: Clock;
  /** Stores changes whose outcome is unknown. */
  journal?: ChangeJournal;
  /** The retry budget of the process; the client creates its own when left out. */
  retryBudget?: RetryBudget;
  /** What other processes know about the rate limit. */
  sharedLimits?: SharedLimits;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
  onEvent?: (event: ClientEvent) => void;
}

export interface CallOptions {
  /** The keys of a change that is sent again; by default the client creates them. */
  keys?: { key: string; commandKey: string };
  /** A signal in addition to the client's own. */
  signal?: AbortSignal;
  /** Fail without retries, but still wait for the rate limit; for callers with their own retry logic. */
  once?: boolean;
  /** Time limit of one attempt in milliseconds, if the default is too short. */
  attemptMilliseconds?: number;
  /** The body contains secrets and is never stored, so only the same command can settle the change later. */
  confidential?: boolean;
}
