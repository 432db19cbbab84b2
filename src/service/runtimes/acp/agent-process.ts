/**
 * The process of an agent: it leads its own process group, which a keeper ends together with the service. Its standard error is kept
 * in part, because agents explain there why they ended.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type Keeper, startKeeper } from '../../sandbox/keeper.ts';

/** How to start an agent. */
export interface AgentCommand {
  /** The program and its arguments. */
  command: readonly string[];
  /** Working directory. */
  directory: string;
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
}

export interface ProcessEnd {
  /** Null if a signal ended the process. */
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** How much of standard error is kept, in characters: its end. */
const longestTail = 64 * 1024;

/** Waits for a line on descriptor 3 and then becomes the program. If no line arrives, the service has died, and it ends. */
const gate = 'read -r go <&3 || exit; exec 3<&-; exec "$@"';

export class AgentProcess {
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves when the process has ended. */
  readonly ended: Promise<ProcessEnd>;
  readonly #keeper: Keeper;
  #tail = '';
  #end: Promise<void> | undefined;

  private constructor(child: ChildProcess, keeper: Keeper) {
    this.input = child.stdin as Writable;
    this.output = child.stdout as Readable;
    this.#keeper = keeper;
    this.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    // Writing to a process that has ended is reported by its end.
    this.input.on('error', () => undefined);
    (child.stderr as Readable).setEncoding('utf8').on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-longestTail);
    });
  }

  /** Starts an agent. Rejects if no process can be started. */
  static async start({ command, directory, env }: AgentCommand): Promise<AgentProcess> {
    const keeper = await startKeeper();
    try {
      const child = spawn('/bin/sh', ['-c', gate, 'sh', ...command], {
        cwd: directory,
        env,
        // It leads a process group, which can be ended as a whole.
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      });
      await once(child, 'spawn');
      const process = new AgentProcess(child, keeper);
      keeper.keep(child.pid as number);
      const gateInput = child.stdio[3] as Writable;
      gateInput.on('error', () => gateInput.destroy()).end('go\n');
      return process;
    } catch (error) {
      keeper.dismiss();
      throw error;
    }
  }

  /** The end of what it wrote to standard error. */
  get errorOutput(): string {
    return this.#tail;
  }

  /** Ends the whole process group: SIGTERM, and SIGKILL after the grace period. @param grace milliseconds */
  end(grace: number): Promise<void> {
    this.#end ??= this.#endGroup(grace);
    return this.#end;
  }

  async #endGroup(grace: number): Promise<void> {
    await this.#keeper.signal('TERM');
    const deadline = performance.now() + grace;
    while (performance.now() < deadline && (await this.#keeper.signal('0'))) await delay(20);
    await this.#keeper.signal('KILL');
    await this.ended;
    this.output.destroy();
    this.#keeper.dismiss();
  }
}
