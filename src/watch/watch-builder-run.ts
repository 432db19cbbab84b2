/**
 * A builder run as a stream of events, until it waits for a review or has ended. Its questions are events; it continues
 * when somebody has answered.
 */
import type { Client } from '../client/client.ts';
import type { BuilderRun, BuilderRunProgress, HumanRequest } from '../interface/types.ts';
import { type Enveloped, EventSequence } from './envelope.ts';
import type { WaitingBody } from './events.ts';
import { type Call, pollEvents, type WatchOptions } from './polling.ts';

interface Payloads {
  'builder_run.status': { status: string; previous: string | null };
  'builder_run.phase': { phase: string };
  'builder_run.asking': { questions: HumanRequest };
  'builder_run.answered': { request_id: string };
  'rate_limit.waiting': WaitingBody['data'];
  /** The builder run waits to be accepted or declined. */
  'builder_run.proposed': { builder_run: BuilderRun };
  /** Only the progress, if another builder run has replaced it. */
  'builder_run.finished': { builder_run: BuilderRun | BuilderRunProgress };
}

export type BuilderRunEvent = Enveloped<Payloads, { builder_run_id: string }, null>;

type Body = { [Type in keyof Payloads]: { type: Type; data: Payloads[Type] } }[keyof Payloads];

/** The builder run to watch. */
export interface BuilderRunIds {
  buildId: string;
  builderRunId: string;
}

interface State {
  status: string | null;
  phase: string | null;
  questionId: string | undefined;
}

/**
 * Yields events. Ends after `builder_run.proposed` or `builder_run.finished`.
 * @throws whatever the client throws, and the signal's reason
 */
export async function* watchBuilderRun(
  client: Client,
  ids: BuilderRunIds,
  options: WatchOptions,
): AsyncGenerator<BuilderRunEvent, void, undefined> {
  const state: State = { status: null, phase: null, questionId: undefined };
  const sequence = new EventSequence(options.clock);
  for await (const body of pollEvents(client, options, (call) => poll(call, ids, state))) {
    yield sequence.next<BuilderRunEvent>(body, { builder_run_id: ids.builderRunId });
    if (body.type === 'builder_run.proposed' || body.type === 'builder_run.finished') return;
  }
}

async function* poll(call: Call, ids: BuilderRunIds, state: State): AsyncGenerator<Body, void, undefined> {
  const progress = await call('getBuilderRunStatus', { params: { builder_run_id: ids.builderRunId } });
  const { phase } = progress;
  if (typeof phase === 'string' && phase !== state.phase) yield { type: 'builder_run.phase', data: { phase } };
  state.phase = phase;
  const isRunning = progress.status === 'running';
  // Unless it is working, the builder run itself contains all details.
  const run = isRunning ? undefined : await call('getLatestBuilderRun', { params: { build_id: ids.buildId } });
  const ownRun = run?.id === ids.builderRunId ? run : undefined;
  const questions = ownRun && questionsOf(ownRun);
  // It was read later, and its status may have changed since.
  const status = ownRun?.status ?? progress.status;
  if (state.questionId !== undefined && state.questionId !== questions?.id) {
    // The questions of a discarded builder run were not answered.
    if (status !== 'cancelled') yield { type: 'builder_run.answered', data: { request_id: state.questionId } };
    state.questionId = undefined;
  }
  if (status !== state.status) yield { type: 'builder_run.status', data: { status, previous: state.status } };
  state.status = status;
  if (questions && questions.id !== state.questionId) {
    yield { type: 'builder_run.asking', data: { questions } };
    state.questionId = questions.id;
  }
  if (ownRun?.status === 'waiting_for_approve') yield { type: 'builder_run.proposed', data: { builder_run: ownRun } };
  else if (isEnded(status)) yield { type: 'builder_run.finished', data: { builder_run: ownRun ?? progress } };
}

const isEnded = (status: string): boolean => status === 'completed' || status === 'failed' || status === 'cancelled';

/** The pending questions of a builder run as a human request; undefined when there are none, or their form is unknown. */
export function questionsOf(run: BuilderRun): HumanRequest | undefined {
  const pending = run.pending_user_questions as Partial<HumanRequest> | null;
  if (run.status !== 'waiting_for_input' || pending === null || !Array.isArray(pending.questions)) return undefined;
  const [firstQuestion] = pending.questions;
  return {
    id: pending.id ?? run.id,
    type: 'question',
    title: pending.title ?? firstQuestion?.question ?? '',
    description: pending.description ?? null,
    created_at: pending.created_at ?? run.started_at ?? '',
    questions: pending.questions,
  };
}
