/** What a client is made with, and what it tells of its work. */
import type { Clock } from '../base/clock.ts';
import type { Credential } from './access/credential.ts';
import type { ChangeJournal } from './journal.ts';
import type { ResponseHeaders } from './limits/rate-limit.ts';
import type { SharedLimits } from './limits/shared-limits.ts';
import type { Network } from './network/network.ts';
import type { RetryBudget } from './retry-budget.ts';

/** What the core does that a person may want to know of. */
export type ClientEvent =
  | { type: 'retry'; reason: string; waitMilliseconds: number; attempt: number }
  | { type: 'rate_limit.waiting'; waitMilliseconds: number }
  | { type: 'rate_limit.resumed' }
  /** A change was not carried out now: the user's key had been used for it before, and this is the result it had then. */
  | { type: 'replayed'; method: string; path: string }
  /** One attempt. The headers are as sent and received, but for the credential: whoever shows them chooses which. */
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
  /** What to do when the service rejects the credential; to sign in, where nothing else is known. */
  rejectedHint?: string;
  /** The command's signal: Ctrl-C and `--timeout`. */
  signal?: AbortSignal;
  /** When the command has to be done, in steady time of the clock: no wait is begun that would end later. */
  deadline?: number;
  /** Longest pause a rate limit may ask for, in milliseconds. */
  maxWaitMilliseconds?: number;
  /** The key of the command, given by the user to repeat one whose outcome is unknown; a fresh one otherwise. */
  idempotencyKey?: string;
  /** How to get to the service; directly when left out. */
  network?: Network;
  clock?: Clock;
  /** Remembers changes whose outcome is unknown. */
  journal?: ChangeJournal;
  /** What the process may retry; of its own when left out. */
  retryBudget?: RetryBudget;
  /** What other processes know of the rate limit. */
  sharedLimits?: SharedLimits;
  /** Source of jitter, in [0, 1). */
  random?: () => number;
  onEvent?: (event: ClientEvent) => void;
}

export interface CallOptions {
  /** The keys of a change that is sent again; by default the client chooses them. */
  keys?: { key: string; commandKey: string };
  /** In addition to the client's own signal. */
  signal?: AbortSignal;
  /** It is not tried again when it fails; only waits for the rate limit are waited for. The caller has a patience of its own. */
  once?: boolean;
  /** The body holds secrets: it is kept nowhere, so only the same command can settle the change later. */
  confidential?: boolean;
}
