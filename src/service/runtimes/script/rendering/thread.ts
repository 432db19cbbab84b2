/** A thread that renders templates, one request at a time. It does not outlive a request that is not answered as it should be. */
import { Worker } from 'node:worker_threads';
import { steadyTime, systemClock } from '../../../../base/clock.ts';
import { TemplateError } from '../template.ts';
import type { Asked, Told } from './messages.ts';
import { workerProgram } from './worker-file.ts';

/** Why templates were not rendered: they need more time than they may have, or more memory. */
export class RenderLimitError extends Error {
  readonly resource: 'time' | 'memory';

  constructor(resource: 'time' | 'memory') {
    super(`Templates need more ${resource} than they may have.`);
    this.name = 'RenderLimitError';
    this.resource = resource;
  }
}

export interface Rendered {
  values: Record<string, unknown>;
  /** Milliseconds that it took. */
  took: number;
}

/** Why a thread could not be started: Node says what the system said in the message alone ("...: EMFILE"). */
function startFailure(error: Error): Error {
  const code = /: (E[A-Z]+)$/.exec(error.message)?.[1];
  return code === undefined ? error : Object.assign(new Error(error.message, { cause: error }), { code });
}

export class Thread {
  readonly #worker: Worker;
  readonly #ready: Promise<void>;
  #rest: NodeJS.Timeout | undefined;
  /** Whether it can take no more requests. */
  isOver = false;

  /** @param memory MiB of values that it may have */
  constructor(memory: number) {
    this.#worker = new Worker(workerProgram.file, {
      // Nothing of the service's is needed there.
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: memory, maxYoungGenerationSizeMb: Math.max(1, memory / 8) },
    });
    this.#worker.unref();
    this.#ready = new Promise((resolve, reject) => {
      this.#worker.once('message', () => resolve());
      this.#worker.once('error', (error) => reject(startFailure(error)));
      this.#worker.once('exit', () => reject(new Error('The thread that renders templates ended.')));
    });
    this.#ready.catch(() => undefined);
    // Each request listens for itself; without a listener the error would be the process's.
    this.#worker.on('error', () => undefined);
    this.#worker.once('exit', () => {
      this.isOver = true;
    });
  }

  /** @param limit milliseconds of real time. Throws a TemplateError, a RenderLimitError, or the signal's reason. */
  async render(asked: Asked, limit: number, signal: AbortSignal): Promise<Rendered> {
    clearTimeout(this.#rest);
    const over = new AbortController();
    try {
      return await new Promise<Rendered>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: over.signal });
        if (signal.aborted) reject(signal.reason);
        this.#ready.then(() => this.#ask(asked, limit, over.signal)).then(resolve, reject);
      });
    } catch (error) {
      // It may be in the middle of something that nobody waits for.
      if (!(error instanceof TemplateError)) this.end();
      throw error;
    } finally {
      over.abort();
    }
  }

  #ask(asked: Asked, limit: number, over: AbortSignal): Promise<Rendered> {
    const began = steadyTime(systemClock);
    return new Promise((resolve, reject) => {
      const onMessage = (told: Told): void => {
        if ('values' in told) resolve({ values: told.values, took: steadyTime(systemClock) - began });
        else reject(new TemplateError(told.problem, told.position));
      };
      const onError = (error: NodeJS.ErrnoException): void =>
        reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new RenderLimitError('memory') : error);
      const onExit = (): void => reject(new Error('The thread that renders templates ended.'));
      this.#worker.once('message', onMessage).once('error', onError).once('exit', onExit);
      over.addEventListener('abort', () => this.#worker.off('message', onMessage).off('error', onError).off('exit', onExit), {
        once: true,
      });
      systemClock.sleep(limit, over).then(
        () => reject(new RenderLimitError('time')),
        () => undefined,
      );
      try {
        this.#worker.postMessage(asked);
      } catch (error) {
        reject(new TemplateError(`what templates read cannot be used: ${error instanceof Error ? error.message : String(error)}`));
      }
    });
  }

  /** Calls `done` when nothing has been asked of it for so many milliseconds. */
  rest(milliseconds: number, done: () => void): void {
    this.#rest = setTimeout(done, milliseconds).unref();
  }

  /** Ends it, whatever it is doing. */
  end(): void {
    clearTimeout(this.#rest);
    this.isOver = true;
    void this.#worker.terminate();
  }
}
