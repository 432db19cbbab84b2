/** A thread that renders templates, one request at a time. It ends if a request does not get a proper response. */
import { Worker } from 'node:worker_threads';
import { steadyTime, systemClock } from '../../../../base/clock.ts';
import { messageOf } from '../../../../base/errors.ts';
import { TemplateError } from '../../../../base/liquid.ts';
import type { RenderRequest, RenderResponse } from './messages.ts';
import { startFailure } from './start-failure.ts';
import { workerProgram } from './worker-file.ts';

/** Templates need more time or memory than allowed. */
export class RenderLimitError extends Error {
  readonly resource: 'time' | 'memory';

  constructor(resource: 'time' | 'memory') {
    super(`Templates need more ${resource} than allowed.`);
    this.name = 'RenderLimitError';
    this.resource = resource;
  }
}

export interface RenderResult {
  values: Record<string, unknown>;
  /** The duration in milliseconds. */
  duration: number;
}

export class Thread {
  readonly #worker: Worker;
  readonly #ready: Promise<void>;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Whether it cannot accept any more requests. */
  isOver = false;

  /** @param memory limit in MiB */
  constructor(memory: number) {
    this.#worker = new Worker(workerProgram.file, {
      // The thread does not need the environment of the service.
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
    // Each request adds its own listener; without any listener, the error would end the process.
    this.#worker.on('error', () => undefined);
    this.#worker.once('exit', () => {
      this.isOver = true;
    });
  }

  /** @param limit milliseconds of real time. Throws a TemplateError, a RenderLimitError, or the signal's reason. */
  async render(request: RenderRequest, limit: number, signal: AbortSignal): Promise<RenderResult> {
    clearTimeout(this.#idleTimer);
    const end = new AbortController();
    try {
      return await new Promise<RenderResult>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: end.signal });
        if (signal.aborted) reject(signal.reason);
        this.#ready.then(() => this.#ask(request, limit, end.signal)).then(resolve, reject);
      });
    } catch (error) {
      // It might be rendering something that is no longer needed.
      if (!(error instanceof TemplateError)) this.end();
      throw error;
    } finally {
      end.abort();
    }
  }

  #ask(request: RenderRequest, limit: number, endSignal: AbortSignal): Promise<RenderResult> {
    const startTime = steadyTime(systemClock);
    return new Promise((resolve, reject) => {
      const onMessage = (response: RenderResponse): void => {
        if ('values' in response) resolve({ values: response.values, duration: steadyTime(systemClock) - startTime });
        else reject(new TemplateError(response.problem, response.position));
      };
      const onError = (error: NodeJS.ErrnoException): void =>
        reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? new RenderLimitError('memory') : error);
      const onExit = (): void => reject(new Error('The thread that renders templates ended.'));
      this.#worker.once('message', onMessage).once('error', onError).once('exit', onExit);
      endSignal.addEventListener('abort', () => this.#worker.off('message', onMessage).off('error', onError).off('exit', onExit), {
        once: true,
      });
      systemClock.sleep(limit, endSignal).then(
        () => reject(new RenderLimitError('time')),
        () => undefined,
      );
      try {
        this.#worker.postMessage(request);
      } catch (error) {
        reject(new TemplateError(`what templates read cannot be used: ${messageOf(error)}`));
      }
    });
  }

  /** Calls `onIdle` after this many milliseconds without a request. */
  startIdleTimer(milliseconds: number, onIdle: () => void): void {
    this.#idleTimer = setTimeout(onIdle, milliseconds).unref();
  }

  /** Ends the thread, even during a request. */
  end(): void {
    clearTimeout(this.#idleTimer);
    this.isOver = true;
    void this.#worker.terminate();
  }
}
