/**
 * Threads that render templates. They start on demand, end after a time without work, and do not keep the process alive. A lane
 * (a team) has one thread at a time, and lanes take turns, so that none of them waits for everything that another has to render.
 */
import { availableParallelism } from 'node:os';
import type { RenderRequest } from './messages.ts';
import { type RenderResult, Thread } from './thread.ts';

export interface RenderOptions {
  /** The team whose templates they are. */
  lane: string;
  /** The time limit in milliseconds of real time, from when a thread starts with them. */
  limit: number;
  /** Stops the rendering at any point. */
  signal: AbortSignal;
}

interface Task extends RenderOptions {
  request: RenderRequest;
  resolve(result: RenderResult): void;
  reject(error: unknown): void;
}

export interface PoolOptions {
  /** The maximum number of threads. */
  threads?: number;
  /** The memory limit of a thread in MiB. */
  memory?: number;
  /** Milliseconds without work after which a thread ends. */
  idle?: number;
}

export class RenderPool {
  readonly #options: Required<PoolOptions>;
  /** Waiting tasks by lane. The lane that is served next comes first. */
  readonly #queues = new Map<string, Task[]>();
  /** Lanes that have a thread. */
  readonly #servedLanes = new Set<string>();
  readonly #idleThreads: Thread[] = [];

  constructor(options: PoolOptions = {}) {
    // With two threads, no lane waits for a slow one; more would compete with the thread that serves requests.
    const threads = Math.max(2, Math.min(4, availableParallelism()));
    this.#options = { threads, memory: 128, idle: 60_000, ...options };
  }

  /** Renders templates. Throws a TemplateError, a RenderLimitError, or the signal's reason. */
  async render(request: RenderRequest, options: RenderOptions): Promise<RenderResult> {
    options.signal.throwIfAborted();
    const end = new AbortController();
    try {
      return await new Promise((resolve, reject) => {
        const task: Task = { ...options, request, resolve, reject };
        options.signal.addEventListener('abort', () => this.#withdraw(task), { once: true, signal: end.signal });
        this.#queues.set(options.lane, [...(this.#queues.get(options.lane) ?? []), task]);
        this.#startNext();
      });
    } finally {
      end.abort();
    }
  }

  /** Ends the idle threads. */
  close(): void {
    for (const thread of this.#idleThreads.splice(0)) thread.end();
  }

  #withdraw(task: Task): void {
    this.#keepWaiting(
      task.lane,
      (this.#queues.get(task.lane) ?? []).filter((waitingTask) => waitingTask !== task),
    );
    task.reject(task.signal.reason);
  }

  #keepWaiting(lane: string, tasks: Task[]): void {
    if (tasks.length === 0) this.#queues.delete(lane);
    else this.#queues.set(lane, tasks);
  }

  #startNext(): void {
    for (const [lane, [task, ...remaining]] of [...this.#queues]) {
      if (this.#servedLanes.size >= this.#options.threads) return;
      if (task === undefined || this.#servedLanes.has(lane)) continue;
      // It is served again after all other lanes.
      this.#queues.delete(lane);
      this.#keepWaiting(lane, remaining);
      void this.#serve(task);
    }
  }

  async #serve(task: Task): Promise<void> {
    this.#servedLanes.add(task.lane);
    try {
      const thread = this.#idleThread() ?? new Thread(this.#options.memory);
      task.resolve(await thread.render(task.request, task.limit, task.signal).finally(() => this.#keepIdle(thread)));
    } catch (error) {
      task.reject(error);
    }
    this.#servedLanes.delete(task.lane);
    this.#startNext();
  }

  #idleThread(): Thread | undefined {
    const thread = this.#idleThreads.pop();
    return thread?.isOver ? this.#idleThread() : thread;
  }

  #keepIdle(thread: Thread): void {
    if (thread.isOver) return;
    this.#idleThreads.push(thread);
    thread.startIdleTimer(this.#options.idle, () => {
      this.#idleThreads.splice(this.#idleThreads.indexOf(thread), 1);
      thread.end();
    });
  }
}
