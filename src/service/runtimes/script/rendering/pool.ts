/**
 * Threads that render templates. They are started when something is to be rendered, end when nothing has been for a while, and
 * keep no process alive. A lane (a team) has one of them at a time, and lanes take turns, so that none waits for everything that another
 * has to render.
 */
import { availableParallelism } from 'node:os';
import type { Asked } from './messages.ts';
import { type Rendered, Thread } from './thread.ts';

export interface RenderOptions {
  /** Whose templates they are. */
  lane: string;
  /** Milliseconds of real time, from when a thread begins with them. */
  limit: number;
  /** Ends the rendering, also in the middle of it. */
  signal: AbortSignal;
}

interface Task extends RenderOptions {
  asked: Asked;
  resolve(rendered: Rendered): void;
  reject(error: unknown): void;
}

export interface PoolOptions {
  /** At the same time. */
  threads?: number;
  /** MiB of values that a thread may have. */
  memory?: number;
  /** Milliseconds without work after which a thread ends. */
  idle?: number;
}

export class RenderPool {
  readonly #options: Required<PoolOptions>;
  /** What waits, by lane. The lane whose turn is next comes first. */
  readonly #waiting = new Map<string, Task[]>();
  /** Lanes that have a thread. */
  readonly #served = new Set<string>();
  readonly #idle: Thread[] = [];

  constructor(options: PoolOptions = {}) {
    // With two, no lane waits for one that renders for long; many would compete with the thread that answers requests.
    const threads = Math.max(2, Math.min(4, availableParallelism()));
    this.#options = { threads, memory: 128, idle: 60_000, ...options };
  }

  /** Renders templates. Throws a TemplateError, a RenderLimitError, or the signal's reason. */
  async render(asked: Asked, options: RenderOptions): Promise<Rendered> {
    options.signal.throwIfAborted();
    const over = new AbortController();
    try {
      return await new Promise((resolve, reject) => {
        const task: Task = { ...options, asked, resolve, reject };
        options.signal.addEventListener('abort', () => this.#withdraw(task), { once: true, signal: over.signal });
        this.#waiting.set(options.lane, [...(this.#waiting.get(options.lane) ?? []), task]);
        this.#next();
      });
    } finally {
      over.abort();
    }
  }

  /** Ends the threads that have nothing to do. */
  close(): void {
    for (const thread of this.#idle.splice(0)) thread.end();
  }

  #withdraw(task: Task): void {
    this.#keepWaiting(
      task.lane,
      (this.#waiting.get(task.lane) ?? []).filter((one) => one !== task),
    );
    task.reject(task.signal.reason);
  }

  #keepWaiting(lane: string, tasks: Task[]): void {
    if (tasks.length === 0) this.#waiting.delete(lane);
    else this.#waiting.set(lane, tasks);
  }

  #next(): void {
    for (const [lane, [task, ...others]] of [...this.#waiting]) {
      if (this.#served.size >= this.#options.threads) return;
      if (task === undefined || this.#served.has(lane)) continue;
      // Its next turn comes after those of all others.
      this.#waiting.delete(lane);
      this.#keepWaiting(lane, others);
      void this.#serve(task);
    }
  }

  async #serve(task: Task): Promise<void> {
    this.#served.add(task.lane);
    try {
      const thread = this.#idleThread() ?? new Thread(this.#options.memory);
      task.resolve(await thread.render(task.asked, task.limit, task.signal).finally(() => this.#keepIdle(thread)));
    } catch (error) {
      task.reject(error);
    }
    this.#served.delete(task.lane);
    this.#next();
  }

  #idleThread(): Thread | undefined {
    const thread = this.#idle.pop();
    return thread?.isOver ? this.#idleThread() : thread;
  }

  #keepIdle(thread: Thread): void {
    if (thread.isOver) return;
    this.#idle.push(thread);
    thread.rest(this.#options.idle, () => {
      this.#idle.splice(this.#idle.indexOf(thread), 1);
      thread.end();
    });
  }
}
