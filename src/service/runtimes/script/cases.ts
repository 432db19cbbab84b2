/** Steps about cases: complete_case, fail_case, postpone_case, create_case. Each appears as a tool call and happens once. */
import { parseDuration } from '../../../base/duration.ts';
import type { NewCase } from '../../../interface/types.ts';
import { readUntil } from '../postponement.ts';
import type { CaseAction } from '../run-host.ts';
import { calling, resultEvent } from './calls.ts';
import { text, texts, value } from './rendering/parts.ts';
import type { Procedure, Step, StepOf } from './schema.ts';
import { nameOf, StepError, type StepOutcome, type Turn } from './turn.ts';

export async function settleCase(step: StepOf<'complete_case'> | StepOf<'fail_case'>, turn: Turn): Promise<StepOutcome> {
  const { reason } = await turn.render(step, { reason: text(step.payload) });
  const args = reason === '' ? {} : { reason };
  return acting(step, turn, args, step.kind === 'fail_case' ? { do: 'fail', reason } : { do: 'complete', ...args });
}

export async function postponeCase(step: StepOf<'postpone_case'>, turn: Turn): Promise<StepOutcome> {
  const { payload } = step;
  const values = await turn.render(step, { until: text(payload.until), reason: text(payload.reason) });
  const reason = values.reason === undefined ? {} : { reason: values.reason };
  const now = turn.host.clock.now();
  const until = values.until === undefined ? now + (parseDuration(payload.for ?? '') ?? 0) : readTime(step, values.until, now);
  const args = { until: new Date(until).toISOString(), ...reason };
  const outcome = await acting(step, turn, args, { do: 'postpone', until, ...reason });
  // Another run takes the case when it is due.
  return outcome.entry.ends === undefined ? { ...outcome, entry: { ...outcome.entry, ends: { status: 'completed' } } } : outcome;
}

function readTime(step: Step, text: string, now: number): number {
  const time = readUntil(text, now);
  if ('problem' in time) throw new StepError(`${nameOf(step)}: ${time.problem}`);
  return time.until;
}

export async function createCase(step: StepOf<'create_case'>, turn: Turn): Promise<StepOutcome> {
  const { queue, title, data, json, labels, priority, agent } = step.payload;
  const renderedFields = await turn.render(step, {
    fields: texts({ queue, title, data, agent, labels: labels ?? {} }),
    json: json === undefined ? undefined : value(json),
  });
  const { fields } = renderedFields;
  const content = json === undefined ? fields.data : JSON.stringify(renderedFields.json);
  const draft: NewCase = {
    title: fields.title,
    ...(content === undefined ? {} : { data: content }),
    labels: Object.entries(fields.labels).flatMap(([key, values]) => [values].flat().map((value) => ({ key, value }))),
    ...(priority === undefined ? {} : { priority }),
  };
  const to = fields.agent === undefined ? {} : { agent: fields.agent };
  const args = { queue: fields.queue, title: fields.title, ...to };
  return acting(step, turn, args, { do: 'create', queue: fields.queue, draft, ...to });
}

function acting(step: Step, turn: Turn, args: Record<string, unknown>, action: CaseAction): Promise<StepOutcome> {
  return calling(step, turn, { name: step.kind, arguments: args }, async () => {
    const result = await turn.act(step, action);
    return { entry: { result }, events: [resultEvent(step, { result })] };
  });
}

/** The queues that steps add cases to, without names from templates, which only the run knows. */
export const queuesOf = ({ steps }: Procedure): string[] =>
  steps.flatMap((step) => (step.kind === 'create_case' && !step.payload.queue.includes('{') ? [step.payload.queue] : []));
