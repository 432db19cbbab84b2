/** What a command may reach: everything outside comes through here, so that tests and other hosts can replace it. */
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import type { RetryBudget } from '../../client/retry-budget.ts';
import type { ConfigPaths, Environment } from '../../config/paths.ts';
import type { ResolvedConfig } from '../../config/resolve.ts';
import type { OutputFormat } from '../../config/settings.ts';
import type { ConfigStore } from '../../config/store.ts';
import type { Drafts } from '../../terminal/prompting/drafts.ts';
import type { Prompter } from '../../terminal/prompts.ts';
import type { Terminal } from '../../terminal/streams.ts';
import type { ChangeFlags, GlobalFlags } from './global-flags.ts';

export interface Context {
  /** The commands of this program; `commandsOf` in tree.ts reads them. Commands refer to the context, so their type is not known here. */
  readonly commands: object;
  readonly terminal: Terminal;
  readonly prompter: Prompter;
  /** Where texts are saved that a person wrote and that were not sent. */
  readonly drafts: Drafts;
  readonly env: Environment;
  readonly cwd: string;
  readonly paths: ConfigPaths;
  readonly flags: GlobalFlags & ChangeFlags;
  readonly clock: Clock;
  /** Aborted by Ctrl-C and by `--timeout`, with the reason as the error to end with. */
  readonly signal: AbortSignal;
  /** When `--timeout` will have passed, in steady time of the clock. */
  readonly deadline: number | undefined;
  /** What the whole command may retry. */
  readonly retryBudget: RetryBudget;
  readonly store: ConfigStore;
  /** How this process was started, for commands that start another one. */
  readonly launcher: {
    executable: string;
    script: string;
    platform: string;
    nodeVersion: string;
    pid: number;
    kill(pid: number, signal: 'SIGTERM' | 0): void;
    /** Calls the listener on SIGHUP, which otherwise ends the process. Returns what takes it away. */
    onHangup(listener: () => void): () => void;
    /** Ends the process so many milliseconds from now, should anything that nobody waits for keep it. */
    endWithin(milliseconds: number): void;
    /** What this process uses: bytes, and seconds of CPU time. */
    usage(): { residentBytes: number; heapBytes: number; cpuSeconds: number };
  };
  /** The format to print results in. */
  readonly format: OutputFormat;
  /** Settings and credential, resolved once. With `newProfile` the profile named need not exist yet. @throws AopsError */
  config(options?: { newProfile?: boolean }): ResolvedConfig;
  /** The client of the resolved profile, made once and closed at the end. @throws AopsError when not signed in */
  client(): Promise<Client>;
  /** The team to act on. @throws AopsError */
  teamId(): string;
  /** Standard input, whole. @throws UsageError when it is a terminal */
  readStandardInput(): Promise<Buffer>;
}
