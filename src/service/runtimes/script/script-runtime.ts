/**
 * The script runtime: executes the steps of a procedure deterministically, without a model. It is the
 * default runtime, for demonstrations, tests, CI, and anything with predetermined steps (docs/procedures.md).
 */
import { parseDuration } from '../../../base/duration.ts';
import { ServiceError } from '../../errors.ts';
import type { Outcome, RunHost } from '../run-host.ts';
import type { Runtime } from '../runtime.ts';
import { browse } from './browse.ts';
import { scriptBuilder } from './builder/builder.ts';
import { exec, failedCall, screenshot, tool, write } from './calls.ts';
import { createCase, postponeCase, queuesOf, settleCase } from './cases.ts';
import { connectedTool, connectionsOf } from './connected-tool.ts';
import { parseProcedure, readProcedure } from './parse.ts';
import { remember } from './remember.ts';
import { condition, text } from './rendering/parts.ts';
import { defaultLimits, PassRendering, type RenderLimits } from './rendering/pass.ts';
import { RenderPool } from './rendering/pool.ts';
import { approve, ask } from './requests.ts';
import { type Procedure, type Step, stepDescription, stepKinds } from './schema.ts';
import { asStepError, type Entry, isPartOfStep, nameOf, type Pause, StepError, type StepOutcome, Turn } from './turn.ts';

export interface ScriptOptions {
  pool: RenderPool;
  limits?: RenderLimits;
}

/** The runtime, with threads for its templates. */
export const createScriptRuntime = ({ pool, limits = defaultLimits }: ScriptOptions): Runtime => ({
  name: 'script',
  description: 'Executes the steps of a procedure in order, without a model.',
  parts: stepKinds.map((name) => ({
    name,
    type: 'step',
    description: stepDescription(name),
    needsExec: name === 'exec',
  })),
  validate: (procedure) => void parseProcedure(procedure),
  advance: (host) => advance(host, new PassRendering(pool, { limits, lane: host.run.teamId, signal: host.signal })),
  queuesOf: (procedure) => queuesOf(readProcedure(procedure)),
  // Parsing takes time, and most procedures do not use connections.
  connectionsOf: (procedure) => (procedure.includes('connection') ? connectionsOf(readProcedure(procedure)) : []),
  countSteps: (procedure) => readProcedure(procedure).steps.length,
  isPartOfStep,
  builder: scriptBuilder,
});

export const scriptRuntime = createScriptRuntime({ pool: new RenderPool() });

async function advance(host: RunHost, rendering: PassRendering): Promise<Outcome> {
  host.signal.throwIfAborted();
  let procedure: Procedure;
  try {
    procedure = readProcedure(host.procedure);
  } catch (error) {
    if (error instanceof ServiceError) return { status: 'failed', error: `The procedure is not valid: ${error.message}` };
    throw error;
  }
  // The memory can be large, and not every procedure reads it.
  const turn = new Turn(host, host.procedure.includes('memory') ? await host.memory() : new Map(), rendering);
  try {
    return await follow(procedure, turn);
  } finally {
    await turn.close();
  }
}

/** How often the end of the service can interrupt a step before the run fails. */
const maxInterruptions = 5;

async function follow(procedure: Procedure, turn: Turn): Promise<Outcome> {
  let { interruptions } = turn.host;
  const last = procedure.steps.at(-1);
  for (const step of procedure.steps) {
    turn.host.signal.throwIfAborted();
    let entry = turn.entryOf(step);
    if (!entry) {
      const outcome = interruptions < maxInterruptions ? await attempt(step, turn) : abandonStep(step, interruptions);
      interruptions = 0;
      if ('status' in outcome) return outcome;
      entry = await complete(step, outcome, turn, step === last);
    }
    turn.note(step, entry);
    if (entry.ends) return entry.ends;
  }
  return { status: 'completed' };
}

const abandonStep = (step: Step, interruptions: number): StepOutcome => {
  const error = `${nameOf(step)} was abandoned: the service ended ${interruptions} times in a row while the step was running.`;
  return { entry: { ends: { status: 'failed', error } } };
};

/** Executes a step if its condition is true. An error of the procedure fails the run; other errors are thrown, and the engine tries again. */
async function attempt(step: Step, turn: Turn): Promise<StepOutcome | Pause> {
  try {
    if (step.condition !== undefined && !turn.isBegun(step)) {
      const { holds } = await turn.render(step, { holds: condition(step.condition) });
      if (!holds) return { entry: { skipped: true } };
    }
    return await perform(step, turn);
  } catch (reason) {
    turn.host.signal.throwIfAborted();
    const error = asStepError(step, reason);
    if (error instanceof StepError) return { entry: { ends: { status: 'failed', error: error.message } } };
    throw error;
  }
}

/** Completes a step. The run fails if the memory rejects what it writes. */
async function complete(step: Step, outcome: StepOutcome, turn: Turn, isLast: boolean): Promise<Entry> {
  try {
    return await turn.complete(step, outcome, isLast);
  } catch (reason) {
    const error = outcome.remember && asStepError(step, reason);
    if (!(error instanceof StepError)) throw reason;
    return turn.complete(step, failedCall(step, error.message), isLast);
  }
}

async function perform(step: Step, turn: Turn): Promise<StepOutcome | Pause> {
  switch (step.kind) {
    case 'say': {
      const { message } = await turn.render(step, { message: text(step.payload) });
      return { entry: {}, events: [{ kind: 'text', id: step.key, text: message }] };
    }
    case 'tool':
      return step.payload.connection === undefined ? await tool(step, turn) : await connectedTool(step, turn);
    case 'exec':
      return await exec(step, turn);
    case 'write':
      return await write(step, turn);
    case 'remember':
      return await remember(step, turn);
    case 'ask':
      return await ask(step, turn);
    case 'approve':
      return await approve(step, turn);
    case 'screenshot':
      return await screenshot(step, turn);
    case 'browse':
      return await browse(step, turn);
    case 'sleep': {
      const { clock } = turn.host;
      const { until } = await turn.computeOnce(step, 'until', () => ({ until: clock.now() + (parseDuration(step.payload) ?? 0) }));
      return clock.now() < until ? { status: 'sleeping', until } : { entry: {} };
    }
    case 'fail': {
      const { error } = await turn.render(step, { error: text(step.payload) });
      return { entry: { ends: { status: 'failed', error } } };
    }
    case 'complete_case':
    case 'fail_case':
      return await settleCase(step, turn);
    case 'postpone_case':
      return await postponeCase(step, turn);
    case 'create_case':
      return await createCase(step, turn);
  }
}
