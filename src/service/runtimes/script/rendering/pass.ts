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
  readonly of: keyof RenderLimits;
  /** Milliseconds. */
  readonly limit: number;

  constructor(of: keyof RenderLimits, limit: number) {
    super(`Rendering the templates of a ${of} took longer than ${limit} ms.`);
    this.name = 'RenderTimeError';
    this.of = of;
    this.limit = limit;
  }
}

export class PassRendering {
  readonly #pool: Pick<RenderPool, 'render'>;
  readonly #limits: RenderLimits;
  readonly #lane: string;
  readonly #signal: AbortSignal;
  readonly #spent = { step: '', ofStep: 0, ofPass: 0 };

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
    const { memory: files, ...needed } = neededScope(templates, scope);
    if (isCheap(templates, { ...needed, memory: files })) return renderParts(parts, scope) as Values<P>;
    const request = { parts, scope: needed, memory: files === scope.memory ? memory : new Map<string, string>() };
    return (await this.#elsewhere(step, request)) as Values<P>;
  }

  async #elsewhere(step: string, request: Parameters<RenderPool['render']>[0]): Promise<Record<string, unknown>> {
    const spent = this.#spent;
    if (spent.step !== step) Object.assign(spent, { step, ofStep: 0 });
    const leftOfStep = this.#limits.step - spent.ofStep;
    const leftOfPass = this.#limits.pass - spent.ofPass;
    const of = leftOfStep <= leftOfPass ? 'step' : 'pass';
    const limit = Math.max(0, Math.min(leftOfStep, leftOfPass));
    try {
      const { values, took } = await this.#pool.render(request, { lane: this.#lane, limit, signal: this.#signal });
      spent.ofStep += took;
      spent.ofPass += took;
      return values;
    } catch (error) {
      if (error instanceof RenderLimitError && error.resource === 'time') throw new RenderTimeError(of, this.#limits[of]);
      throw error;
    }
  }
}
