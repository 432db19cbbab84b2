/**
 * One pass over a run's procedure: the completed steps (the journal), the data that templates can read, and how a step reports
 * its result. A journal entry contains everything that later steps need, so that a resumed run continues as if never interrupted.
 */

import { TemplateError } from '../../../base/liquid.ts';
import { BrowserSession } from '../../browser/session.ts';
import { ServiceError } from '../../errors.ts';
import type { CaseAction, MemoryWrite, Outcome, RunHost, RuntimeEvent } from '../run-host.ts';
import { caseScope } from './case-scope.ts';
import { memoryScope } from './memory-scope.ts';
import { idOf, isAnswered } from './references.ts';
import type { Parts, Values } from './rendering/parts.ts';
import { type PassRendering, RenderTimeError } from './rendering/pass.ts';
import { RenderLimitError } from './rendering/thread.ts';
import type { Step } from './schema.ts';
import type { Scope } from './template.ts';

/** The journal entry of a completed step. */
export interface Entry {
  skipped?: true;
  /** Becomes steps.<id>. */
  result?: unknown;
  /** Becomes answers.<id>. */
  answer?: unknown;
  /** The run ended with this step. */
  ends?: Extract<Outcome, { status: 'completed' | 'failed' }>;
}

/** The step is complete, or the run has to pause in it. */
export type StepOutcome = { entry: Entry; events?: RuntimeEvent[]; remember?: MemoryWrite };
export type Pause = Extract<Outcome, { status: 'waiting' | 'sleeping' }>;

/** A step cannot be executed; the run fails with this message. */
export class StepError extends Error {}

/** "Step 3 (exec, line 9)". */
export const nameOf = (step: Step): string => `Step ${step.number} (${step.kind}, line ${step.line})`;

/** Turns an error that the procedure caused into a StepError; returns other errors unchanged. */
export function asStepError(step: Step, error: unknown): unknown {
  if (error instanceof TemplateError) return new StepError(`${nameOf(step)}: ${error.message}.`);
  if (error instanceof ServiceError) return new StepError(`${nameOf(step)}: ${error.message}`);
  if (error instanceof RenderLimitError) return new StepError(`${nameOf(step)} needs too much memory to render its templates.`);
  if (error instanceof RenderTimeError) {
    const seconds = `${error.limit / 1_000} s`;
    return new StepError(
      error.limitName === 'step'
        ? `${nameOf(step)} took longer than ${seconds} to render its templates.`
        : `${nameOf(step)} was not executed: the steps before it took longer than ${seconds} to render their templates.`,
    );
  }
  return error;
}

/** What a step decides or does once before it is complete; the names of its entries in the journal end with them. */
const partNames = ['until', 'request', 'case'] as const;

/** Whether a key of the journal is such an entry, and not that of a completed step. */
export const isPartOfStep = (key: string): boolean => partNames.some((name) => key.endsWith(`:${name}`));

export class Turn {
  readonly host: RunHost;
  readonly scope: Scope;
  readonly #journal: Map<string, unknown>;
  readonly #memory: ReadonlyMap<string, string>;
  readonly #rendering: PassRendering;
  #browser: BrowserSession | undefined;

  /** @param memory the agent's memory files, by path */
  constructor(host: RunHost, memory: ReadonlyMap<string, string>, rendering: PassRendering) {
    this.host = host;
    this.#memory = memory;
    this.#rendering = rendering;
    this.#journal = new Map(host.journal);
    const { id, number, agentName } = host.run;
    this.scope = {
      // Only steps that use them read the messages.
      get message() {
        return host.userMessages.at(-1) ?? '';
      },
      get messages() {
        return host.userMessages;
      },
      answers: {},
      steps: {},
      run: { id, number },
      agent: { name: agentName },
      memory: memoryScope(memory),
      case: host.case === undefined ? null : caseScope(host.case),
    };
  }

  /** The browser of the run, which starts when a step first needs it. Throws a ServiceError, or the signal's reason. */
  async browser(): Promise<BrowserSession> {
    const { browsing, sandbox, signal } = this.host;
    if (this.#browser?.isOver) await this.close();
    this.#browser ??= await BrowserSession.open({ browsing, sandbox, signal });
    return this.#browser;
  }

  /** Ends everything that the pass has started. */
  async close(): Promise<void> {
    await this.#browser?.close();
    this.#browser = undefined;
  }

  /** Renders templates of a step, all of them together if possible. `asStepError` turns their errors into a StepError. */
  render<P extends Parts>(step: Step, parts: P): Promise<Values<P>> {
    return this.#rendering.render(step.key, parts, this.scope, this.#memory);
  }

  /** The journal entry of a completed step. */
  entryOf(step: Step): Entry | undefined {
    return this.#journal.get(step.key) as Entry | undefined;
  }

  /** Whether the step was started and then paused, so that its condition is already decided. */
  isBegun(step: Step): boolean {
    return partNames.some((name) => this.#journal.has(`${step.key}:${name}`));
  }

  /** Makes the result of a completed step available to later ones. */
  note(step: Step, entry: Entry): void {
    const id = idOf(step);
    if (id === undefined) return;
    if (isAnswered(step)) this.scope.answers[id] = entry.answer ?? null;
    if (step.kind !== 'ask') this.scope.steps[id] = entry.result ?? null;
  }

  /** Decides something once: returns the journalled value, or the value of `make`, which is then journalled. */
  async computeOnce<T>(step: Step, name: 'until' | 'request', make: () => T | Promise<T>): Promise<T> {
    const key = `${step.key}:${name}`;
    if (this.#journal.has(key)) return this.#journal.get(key) as T;
    const value = await make();
    await this.host.commit(key, value);
    this.#journal.set(key, value);
    return value;
  }

  /** Performs an action on a case once, and returns its result. Throws a ServiceError. */
  async act<T>(step: Step, action: CaseAction): Promise<T> {
    const key = `${step.key}:case`;
    if (!this.#journal.has(key)) this.#journal.set(key, await this.host.act(key, action));
    return this.#journal.get(key) as T;
  }

  /** @param isLast whether no step follows, so that the run completes with this one unless it fails */
  async complete(step: Step, { entry, events = [], remember }: StepOutcome, isLast: boolean): Promise<Entry> {
    await this.host.commit(step.key, entry, events, remember, entry.ends ?? (isLast ? { status: 'completed' } : undefined));
    this.#journal.set(step.key, entry);
    return entry;
  }
}
