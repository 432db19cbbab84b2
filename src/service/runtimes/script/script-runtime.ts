/**
 * The script runtime: executes the steps of a procedure, deterministically, with no model. It is the
 * default runtime, for demonstrations, tests, CI and anything whose steps are known (docs/procedures.md).
 */
import { parseDuration } from '../../../base/duration.ts';
import { ServiceError } from '../../errors.ts';
import type { Outcome, RunHost, Runtime } from '../runtime.ts';
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
import { asStepError, type Done, type Entry, nameOf, type Pause, StepError, Turn } from './turn.ts';

export interface ScriptOptions {
  pool: RenderPool;
  limits?: RenderLimits;
}

/** The runtime, with threads for its templates. */
export const createScriptRuntime = ({ pool, limits = defaultLimits }: ScriptOptions): Runtime => ({
  name: 'script',
  description: 'Executes the steps of a procedure, in order and without a model.',
  parts: stepKinds.map((name) => ({
    name,
    type: 'step',
    description: stepDescription(name),
    needsExec: name === 'exec',
  })),
  validate: (procedure) => void parseProcedure(procedure),
  advance: (host) => advance(host, new PassRendering(pool, { limits, lane: host.run.teamId, signal: host.signal })),
  queuesOf: (procedure) => queuesOf(readProcedure(procedure)),
  // Not every procedure uses one, and reading it takes its time.
  connectionsOf: (procedure) => (procedure.includes('connection') ? connectionsOf(readProcedure(procedure)) : []),
  countSteps: (procedure) => readProcedure(procedure).steps.length,
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
  // Not every procedure reads what may be much.
  const turn = new Turn(host, host.procedure.includes('memory') ? await host.memory() : new Map(), rendering);
  try {
    return await follow(procedure, turn);
  } finally {
    await turn.close();
  }
}

/** How often a step may be interrupted by an end of the service before it is given up. */
const mostInterruptions = 5;

async function follow(procedure: Procedure, turn: Turn): Promise<Outcome> {
  let { interruptions } = turn.host;
  for (const step of procedure.steps) {
    turn.host.signal.throwIfAborted();
    let entry = turn.entryOf(step);
    if (!entry) {
      const done = interruptions < mostInterruptions ? await attempt(step, turn) : givenUp(step, interruptions);
      interruptions = 0;
      if ('status' in done) return done;
      entry = await complete(step, done, turn);
    }
    turn.note(step, entry);
    if (entry.ends) return entry.ends;
  }
  return { status: 'completed' };
}

const givenUp = (step: Step, interruptions: number): Done => {
  const error = `${nameOf(step)} was given up: the service ended ${interruptions} times in a row while it was being done.`;
  return { entry: { ends: { status: 'failed', error } } };
};

/** Does a step whose condition holds. What is wrong with the procedure fails the run; anything else is thrown on, for the engine to try again. */
async function attempt(step: Step, turn: Turn): Promise<Done | Pause> {
  try {
    if (step.condition !== undefined && !turn.isBegun(step)) {
      const { holds } = await turn.render(step, { holds: condition(step.condition) });
      if (!holds) return { entry: { skipped: true } };
    }
    return await perform(step, turn);
  } catch (thrown) {
    turn.host.signal.throwIfAborted();
    const error = asStepError(step, thrown);
    if (error instanceof StepError) return { entry: { ends: { status: 'failed', error: error.message } } };
    throw error;
  }
}

/** Completes a step. What the memory does not take fails the run. */
async function complete(step: Step, done: Done, turn: Turn): Promise<Entry> {
  try {
    return await turn.complete(step, done);
  } catch (thrown) {
    const error = done.remember && asStepError(step, thrown);
    if (!(error instanceof StepError)) throw thrown;
    return turn.complete(step, failedCall(step, error.message));
  }
}

async function perform(step: Step, turn: Turn): Promise<Done | Pause> {
  switch (step.kind) {
    case 'say': {
      const { said } = await turn.render(step, { said: text(step.payload) });
      return { entry: {}, events: [{ kind: 'text', id: step.key, text: said }] };
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
      const { until } = await turn.once(step, 'until', () => ({ until: clock.now() + (parseDuration(step.payload) ?? 0) }));
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
