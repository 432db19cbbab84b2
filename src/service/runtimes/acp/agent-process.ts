/** The process of an agent. Its standard error is kept in part, because agents explain there why they ended. */
import type { Readable, Writable } from 'node:stream';
import { ServiceError } from '../../errors.ts';
import type { Launcher, LaunchRequest } from '../../sandbox/launch.ts';
import { type Exit, type StartedProcess, startProcess } from '../../sandbox/process.ts';
import { AgentProblem } from './problems.ts';

/** How much of standard error is kept, in characters: its end. */
const longestTail = 64 * 1024;

export class AgentProcess {
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves when the process has ended. */
  readonly ended: Promise<Exit>;
  readonly #process: StartedProcess;
  #tail = '';
  #end: Promise<void> | undefined;

  private constructor(process: StartedProcess) {
    this.#process = process;
    this.input = process.stdin as Writable;
    this.output = process.stdout;
    this.ended = process.exit.catch(() => ({ exitCode: null, signal: null }));
    // Writing to a process that has ended is reported by its end.
    this.input.on('error', () => undefined);
    process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-longestTail);
    });
  }

  /** @throws AgentProblem if the launcher refuses */
  static async start(launcher: Launcher, request: LaunchRequest): Promise<AgentProcess> {
    try {
      return new AgentProcess(await startProcess(await launcher.prepare(request), { stdin: 'pipe' }));
    } catch (error) {
      throw error instanceof ServiceError ? new AgentProblem(`The agent cannot be started. ${error.message}`, 'not_permitted') : error;
    }
  }

  /** The end of what it wrote to standard error. */
  get errorOutput(): string {
    return this.#tail;
  }

  /** Ends everything that it has started: SIGTERM, and SIGKILL after the grace period. @param grace milliseconds */
  end(grace: number): Promise<void> {
    this.#end ??= this.#process
      .end(grace)
      .then(() => this.#process.close())
      .then(() => void this.output.destroy());
    return this.#end;
  }
}
