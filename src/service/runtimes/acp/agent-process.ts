/** The process of an agent. The end of its standard error is retained, because agents explain there why they ended. */
import type { Readable, Writable } from 'node:stream';
import { ServiceError } from '../../errors.ts';
import type { Launch, Launcher, LaunchRequest, ProgramEndpoint } from '../../sandbox/launch.ts';
import { type Exit, type StartedProcess, startProcess } from '../../sandbox/process.ts';
import { AgentProblem } from './problems.ts';

/** How much of the end of standard error is retained, in characters. */
const maxTailLength = 64 * 1024;

export class AgentProcess {
  readonly input: Writable;
  readonly output: Readable;
  /** Resolves when the process has ended. */
  readonly ended: Promise<Exit>;
  /** How it reaches the MCP endpoint; undefined if it was started without. */
  readonly endpoint: ProgramEndpoint | undefined;
  readonly #process: StartedProcess;
  #tail = '';
  #end: Promise<void> | undefined;

  private constructor(process: StartedProcess, { endpoint }: Launch) {
    this.#process = process;
    this.endpoint = endpoint;
    this.input = process.stdin as Writable;
    this.output = process.stdout;
    this.ended = process.exit.catch(() => ({ exitCode: null, signal: null }));
    // A write fails if the process has ended, and `ended` reports that.
    this.input.on('error', () => undefined);
    process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#tail = (this.#tail + text).slice(-maxTailLength);
    });
  }

  /** @throws AgentProblem if the launcher refuses to start it */
  static async start(launcher: Launcher, request: LaunchRequest): Promise<AgentProcess> {
    try {
      const launch = await launcher.prepare(request);
      return new AgentProcess(await startProcess(launch, { stdin: 'pipe' }), launch);
    } catch (error) {
      throw error instanceof ServiceError ? new AgentProblem(`The agent cannot be started. ${error.message}`, 'not_permitted') : error;
    }
  }

  /** The end of the process's standard error. */
  get errorOutput(): string {
    return this.#tail;
  }

  /** Ends the process and everything that it has started: SIGTERM, then SIGKILL after the grace period. @param grace milliseconds */
  end(grace: number): Promise<void> {
    this.#end ??= this.#process
      .end(grace)
      .then(() => this.#process.close())
      .then(() => void this.output.destroy());
    return this.#end;
  }
}
