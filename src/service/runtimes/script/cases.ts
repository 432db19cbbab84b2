/** Steps about cases: complete_case, fail_case, postpone_case, create_case. Each shows as a tool call, and happens once. */
import { IsDate } from 'typebox/format';
import { parseDuration } from '../../../base/duration.ts';
import type { NewCase } from '../../../interface/types.ts';
import type { CaseAction } from '../runtime.ts';
import { calling, resultEvent } from './calls.ts';
import type { Procedure, Step, StepOf } from './schema.ts';
import { render, renderDeep, renderTexts } from './template.ts';
import { type Done, nameOf, StepError, type Turn } from './turn.ts';

export async function settleCase(step: StepOf<'complete_case'> | StepOf<'fail_case'>, turn: Turn): Promise<Done> {
  const reason = render(step.payload, turn.scope);
  const given = reason === '' ? {} : { reason };
  return acting(step, turn, given, step.kind === 'fail_case' ? { do: 'fail', reason } : { do: 'complete', ...given });
}

export async function postponeCase(step: StepOf<'postpone_case'>, turn: Turn): Promise<Done> {
  const { payload } = step;
  const reason = payload.reason === undefined ? {} : { reason: render(payload.reason, turn.scope) };
  const until =
    payload.until === undefined
      ? turn.host.clock.now() + (parseDuration(payload.for ?? '') ?? 0)
      : readUntil(step, render(payload.until, turn.scope), turn.host.clock.now());
  const given = { until: new Date(until).toISOString(), ...reason };
  const done = await acting(step, turn, given, { do: 'postpone', until, ...reason });
  // Another run takes the case up when it is due.
  return done.entry.ends === undefined ? { ...done, entry: { ...done.entry, ends: { status: 'completed' } } } : done;
}

const dateForm = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/i;

function readUntil(step: Step, text: string, now: number): number {
  const given = text.trim();
  // Date.parse takes the 30th of February for the 2nd of March.
  const until = dateForm.test(given) && IsDate(given.slice(0, 10)) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(until)) {
    throw new StepError(`${nameOf(step)}: "${text}" is no date; write 2026-07-18, or 2026-07-18T09:30:00Z.`);
  }
  // A case that is due at once would be taken up and postponed for ever.
  if (until <= now) throw new StepError(`${nameOf(step)}: ${text} is not in the future.`);
  return until;
}

export async function createCase(step: StepOf<'create_case'>, turn: Turn): Promise<Done> {
  const { queue, title, data, json, labels, priority, agent } = step.payload;
  const texts = renderTexts({ queue, title, data, agent, labels: labels ?? {} }, turn.scope);
  const draft: NewCase = {
    title: texts.title,
    ...(json !== undefined ? { data: JSON.stringify(renderDeep(json, turn.scope)) } : texts.data === undefined ? {} : { data: texts.data }),
    labels: Object.entries(texts.labels).flatMap(([key, values]) => [values].flat().map((value) => ({ key, value }))),
    ...(priority === undefined ? {} : { priority }),
  };
  const to = texts.agent === undefined ? {} : { agent: texts.agent };
  const given = { queue: texts.queue, title: texts.title, ...to };
  return acting(step, turn, given, { do: 'create', queue: texts.queue, draft, ...to });
}

function acting(step: Step, turn: Turn, given: Record<string, unknown>, action: CaseAction): Promise<Done> {
  return calling(step, turn, { name: step.kind, arguments: given }, async () => {
    const result = await turn.act(step, action);
    return { entry: { result }, events: [resultEvent(step, { result })] };
  });
}

/** Queues that steps add cases to. A name that is made by a template is known in the run alone. */
export const queuesOf = ({ steps }: Procedure): string[] =>
  steps.flatMap((step) => (step.kind === 'create_case' && !step.payload.queue.includes('{') ? [step.payload.queue] : []));
