/**
 * A builder run as a stream of events, until it waits for a review or has ended. Its questions are events; it continues
 * when somebody has answered.
 */
import type { Client } from '../client/client.ts';
import type { BuilderRun, BuilderRunProgress, HumanRequest } from '../interface/types.ts';
import { type Enveloped, EventSequence, enveloped, type Positioned } from './envelope.ts';
import type { WaitingBody } from './events.ts';
import { type Call, pollEvents, type WatchOptions } from './polling.ts';
import type { BuilderRunPoint } from './resume/points.ts';
import { encodeToken } from './resume/token.ts';

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

export type BuilderRunEvent = Enveloped<Payloads, { builder_run_id: string }, string>;

type Body = { [Type in keyof Payloads]: { type: Type; data: Payloads[Type] } }[keyof Payloads];

/** The builder run to watch. */
export interface BuilderRunIds {
  buildId: string;
  builderRunId: string;
}

/** How far the events of a builder run were reported. */
export type BuilderRunPosition = Pick<BuilderRunPoint, 'status' | 'phase' | 'questionId' | 'isReported'>;

export interface BuilderRunStart {
  /** The number of the last event before it. */
  seq: number;
  position: BuilderRunPosition;
}

export const builderRunStart: BuilderRunStart = {
  seq: 0,
  position: { status: null, phase: null, questionId: undefined, isReported: false },
};

export const builderRunToken = ({ buildId, builderRunId }: BuilderRunIds, position: BuilderRunPosition, seq: number): string =>
  encodeToken({ ...position, stream: 'builder_run', seq, buildId, builderRunId });

/**
 * Yields events. Ends after `builder_run.proposed` or `builder_run.finished`.
 * @param start where to begin; by default with the first event
 * @throws whatever the client throws, and the signal's reason
 */
export async function* watchBuilderRun(
  client: Client,
  ids: BuilderRunIds,
  options: WatchOptions,
  { seq, position }: BuilderRunStart = builderRunStart,
): AsyncGenerator<BuilderRunEvent, void, undefined> {
  const state = new State(position);
  const events = enveloped<BuilderRunEvent, BuilderRunPosition>(
    pollEvents(client, options, (call) => poll(call, ids, state)),
    {
      sequence: new EventSequence(options.clock, seq),
      subject: { builder_run_id: ids.builderRunId },
      start: position,
      tokenOf: (current, number) => builderRunToken(ids, current, number),
    },
  );
  for await (const event of events) {
    yield event;
    if (event.type === 'builder_run.proposed' || event.type === 'builder_run.finished') return;
  }
}

class State {
  position: BuilderRunPosition;

  constructor(position: BuilderRunPosition) {
    this.position = position;
  }

  /** An event, and the position that follows from it. */
  after(change: Partial<BuilderRunPosition>, body: Body): Positioned<Body, BuilderRunPosition> {
    this.position = { ...this.position, ...change };
    return { ...body, position: this.position };
  }
}

async function* poll(call: Call, ids: BuilderRunIds, state: State): AsyncGenerator<Positioned<Body, BuilderRunPosition>, void, undefined> {
  const progress = await call('getBuilderRunStatus', { params: { builder_run_id: ids.builderRunId } });
  const { phase } = progress;
  if (typeof phase === 'string' && phase !== state.position.phase)
    yield state.after({ phase }, { type: 'builder_run.phase', data: { phase } });
  else if (phase == null) state.position = { ...state.position, phase: null };
  const isRunning = progress.status === 'running';
  // Unless it is working, the builder run itself contains all details.
  const run = isRunning ? undefined : await call('getLatestBuilderRun', { params: { build_id: ids.buildId } });
  const ownRun = run?.id === ids.builderRunId ? run : undefined;
  const questions = ownRun && questionsOf(ownRun);
  // It was read later, and its status may have changed since.
  const status = ownRun?.status ?? progress.status;
  const { questionId, status: previous } = state.position;
  // The questions of a discarded builder run were not answered.
  if (questionId !== undefined && questionId !== questions?.id && status !== 'cancelled')
    yield state.after({ questionId: undefined }, { type: 'builder_run.answered', data: { request_id: questionId } });
  if (status !== previous) yield state.after({ status, isReported: false }, { type: 'builder_run.status', data: { status, previous } });
  if (questions && questions.id !== state.position.questionId)
    yield state.after({ questionId: questions.id }, { type: 'builder_run.asking', data: { questions } });
  if (ownRun?.status === 'waiting_for_approve')
    yield state.after({ isReported: true }, { type: 'builder_run.proposed', data: { builder_run: ownRun } });
  else if (isEnded(status))
    yield state.after({ isReported: true }, { type: 'builder_run.finished', data: { builder_run: ownRun ?? progress } });
}

/** Whether a builder run with this status can do nothing any more. */
export const isEnded = (status: string): boolean => status === 'completed' || status === 'failed' || status === 'cancelled';

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
