/** The templates of one pass over a procedure: where each is rendered, and the time limits. */
import type { Scope } from '../template.ts';
import { isCheap } from './cheap.ts';
import { neededScope } from './needed-scope.ts';
import { type Parts, renderParts, templatesOf, type Values } from './parts.ts';
import type { RenderPool } from './pool.ts';
import { RenderLimitError } from './thread.ts';

/** Limits in milliseconds of a worker's time. */
export interface RenderLimits {
  /** For all templates of a step. */
  step: number;
  /** For all steps of a pass. */
  pass: number;
}

export const defaultLimits: RenderLimits = { step: 5_000, pass: 60_000 };

/** A step, or all steps of a pass, exceeded the time limit. */
export class RenderTimeError extends Error {
  readonly limitName: keyof RenderLimits;
  /** Milliseconds. */
  readonly limit: number;

  constructor(limitName: keyof RenderLimits, limit: number) {
    super(`Rendering the templates of a ${limitName} took longer than ${limit} ms.`);
    this.name = 'RenderTimeError';
    this.limitName = limitName;
    this.limit = limit;
  }
}

export class PassRendering {
  readonly #pool: Pick<RenderPool, 'render'>;
  readonly #limits: RenderLimits;
  readonly #lane: string;
  readonly #signal: AbortSignal;
  readonly #usedTime = { step: '', stepTime: 0, passTime: 0 };

  constructor(pool: Pick<RenderPool, 'render'>, options: { limits: RenderLimits; lane: string; signal: AbortSignal }) {
    this.#pool = pool;
    this.#limits = options.limits;
    this.#lane = options.lane;
    this.#signal = options.signal;
  }

  /**
   * Renders templates of a step. Throws a TemplateError, a RenderTimeError, a RenderLimitError for memory, or the signal's reason.
   * @param memory the agent's memory files, by path
   */
  async render<P extends Parts>(step: string, parts: P, scope: Scope, memory: ReadonlyMap<string, string>): Promise<Values<P>> {
    const templates = templatesOf(parts);
    const { memory: files, ...neededValues } = neededScope(templates, scope);
    if (isCheap(templates, { ...neededValues, memory: files })) return renderParts(parts, scope) as Values<P>;
    const request = { parts, scope: neededValues, memory: files === scope.memory ? memory : new Map<string, string>() };
    return (await this.#renderInThread(step, request)) as Values<P>;
  }

  async #renderInThread(step: string, request: Parameters<RenderPool['render']>[0]): Promise<Record<string, unknown>> {
    const usedTime = this.#usedTime;
    if (usedTime.step !== step) {
      usedTime.step = step;
      usedTime.stepTime = 0;
    }
    const stepRemaining = this.#limits.step - usedTime.stepTime;
    const passRemaining = this.#limits.pass - usedTime.passTime;
    const limitName = stepRemaining <= passRemaining ? 'step' : 'pass';
    const limit = Math.max(0, Math.min(stepRemaining, passRemaining));
    try {
      const { values, duration } = await this.#pool.render(request, { lane: this.#lane, limit, signal: this.#signal });
      usedTime.stepTime += duration;
      usedTime.passTime += duration;
      return values;
    } catch (error) {
      if (error instanceof RenderLimitError && error.resource === 'time') throw new RenderTimeError(limitName, this.#limits[limitName]);
      throw error;
    }
  }
}
