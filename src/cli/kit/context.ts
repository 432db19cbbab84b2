/** The context of a command: everything outside the process is reached through it, so that tests and other hosts can replace it. */
import type { Clock } from '../../base/clock.ts';
import type { Client } from '../../client/client.ts';
import type { RetryBudget } from '../../client/retry-budget.ts';
import type { ConfigPaths, Environment } from '../../config/paths.ts';
import type { Project } from '../../config/project.ts';
import type { ResolvedConfig } from '../../config/resolve.ts';
import type { OutputFormat } from '../../config/settings.ts';
import type { ConfigStore } from '../../config/store.ts';
import type { Drafts } from '../../terminal/prompting/drafts.ts';
import type { Prompter } from '../../terminal/prompts.ts';
import type { Terminal } from '../../terminal/streams.ts';
import type { ChangeFlags, GlobalFlags } from './global-flags.ts';

export interface Context {
  /** The commands of this program; `commandsOf` in tree.ts reads them. Commands use the context, so their type cannot be used here. */
  readonly commands: object;
  readonly terminal: Terminal;
  readonly prompter: Prompter;
  /** Where texts that a person wrote but that were not sent are saved. */
  readonly drafts: Drafts;
  readonly env: Environment;
  readonly cwd: string;
  readonly paths: ConfigPaths;
  readonly flags: GlobalFlags & ChangeFlags;
  readonly clock: Clock;
  /** Aborted by Ctrl-C and by `--timeout`, with the reason as the error to end with. */
  readonly signal: AbortSignal;
  /** The end of `--timeout`, in steady time of the clock. */
  readonly deadline: number | undefined;
  /** The retry budget of the whole command. */
  readonly retryBudget: RetryBudget;
  readonly store: ConfigStore;
  /** The `.aops.toml` that was found for the current directory. */
  readonly project: Project | undefined;
  /** How this process was started, for commands that start another one. */
  readonly launcher: {
    /** Node, or the single-file executable. */
    executable: string;
    /** The program that starts aops, and its first arguments. */
    command: readonly [program: string, ...args: string[]];
    platform: string;
    nodeVersion: string;
    pid: number;
    kill(pid: number, signal: 'SIGTERM' | 0): void;
    /** Calls the listener on SIGHUP, which otherwise ends the process. Returns a function that removes it. */
    onHangup(listener: () => void): () => void;
    /** Ends the process after this many milliseconds, in case something that is not waited for keeps it alive. */
    endWithin(milliseconds: number): void;
    /** The resources that this process uses: bytes, and seconds of CPU time. */
    usage(): { residentBytes: number; heapBytes: number; cpuSeconds: number };
  };
  /** The format to print results in. */
  readonly format: OutputFormat;
  /** Settings and credential, resolved once. With `newProfile`, the named profile need not exist yet. @throws AopsError */
  config(options?: { newProfile?: boolean }): ResolvedConfig;
  /** The client of the resolved profile, created once and closed at the end. @throws AopsError when not signed in */
  client(): Promise<Client>;
  /** The team to act on. @throws AopsError */
  teamId(): string;
  /** The whole of standard input. @throws UsageError when it is a terminal */
  readStandardInput(): Promise<Buffer>;
}
