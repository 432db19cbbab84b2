/** A process of the service under test: it is killed, frozen, and its clock is set, as if it were a machine of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { project } from './project.ts';

export interface NodeSettings {
  name: string;
  /** Arguments of `aops`. */
  args: readonly string[];
  env: Record<string, string>;
  /** Receives what the process writes. */
  log: (name: string, text: string) => void;
}

/** Milliseconds that a start may take, also on a busy machine. */
const startLimit = 120_000;

export class NodeProcess {
  readonly name: string;
  readonly #settings: NodeSettings;
  #child: ChildProcess | undefined;
  #url: string | undefined;
  #isFrozen = false;
  /** Milliseconds by which the clock of the machine is ahead. */
  #offset: number;

  constructor(settings: NodeSettings, offset = 0) {
    this.name = settings.name;
    this.#settings = settings;
    this.#offset = offset;
  }

  /** Where it listens; undefined while it does not. It can be frozen. */
  get url(): string | undefined {
    return this.#url;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  /** Starts the process. Resolves when it listens, or undefined when it has ended before. */
  async start(): Promise<string | undefined> {
    const { name, args, env, log } = this.#settings;
    const child = spawn(process.execPath, ['--require', preload, launcher, ...args], {
      env: { ...env, CHAOS_CLOCK_OFFSET: String(this.#offset) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    let text = '';
    const url = await new Promise<string | undefined>((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error(`${name} did not start: ${text}`)), startLimit);
      child.once('exit', () => resolve(undefined)).once('exit', () => clearTimeout(limit));
      child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
        log(name, chunk);
        if (text.length < 100_000) text += chunk;
        const found = /^Listening on (\S+?);/m.exec(text)?.[1];
        if (found !== undefined) clearTimeout(limit);
        if (found !== undefined) resolve(found);
      });
    });
    if (this.#child === child) this.#url = child.exitCode === null && child.signalCode === null ? url : undefined;
    return this.#url;
  }

  /** Ends the process like a power cut. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Asks the process to end, as a deployment does. */
  stop(): Promise<void> {
    return this.#end('SIGTERM');
  }

  /** Stops the process in the middle of whatever it does, without ending its connections. */
  freeze(): void {
    this.#isFrozen = true;
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#isFrozen = false;
    this.#child?.kill('SIGCONT');
  }

  /** Sets the clock. @param offset milliseconds by which it is ahead from now on */
  async setClock(offset: number): Promise<void> {
    this.#offset = offset;
    const child = this.#child;
    if (child === undefined || this.#isFrozen || !child.connected) return;
    const answer = Promise.race([once(child, 'message'), once(child, 'exit')]);
    child.send({ offset }, () => undefined);
    await answer;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#url = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const end = once(child, 'exit');
    child.kill(signal);
    await end;
  }
}

const running = new Set<ChildProcess>();

/** Ends all processes at once, also those that are frozen. */
export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

const launcher = path.join(project, 'bin/aops.js');
const preload = path.join(project, 'test/chaos/moving-clock.cjs');
